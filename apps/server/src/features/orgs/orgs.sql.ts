import type { Db } from '../../kernel/db/db.ts';

/** Roles of a member, weakest last. */
export const orgRoles = ['owner', 'admin', 'member'] as const;
export type OrgRole = (typeof orgRoles)[number];

/** Inserts an organisation and answers its id. */
export async function insertOrg(db: Db, name: string): Promise<string> {
  const [row] = await db<{ id: string }[]>`insert into orgs.orgs (name) values (${name}) returning id`;
  return (row as { id: string }).id;
}

/** Whether the organisation exists; locks it for the transaction, so that its owners do not change meanwhile. */
export async function lockOrg(db: Db, id: string): Promise<boolean> {
  return (await db`select 1 from orgs.orgs where id = ${id} for update`).length > 0;
}

/** Adds the member or changes its role. */
export async function setMember(db: Db, orgId: string, accountId: string, role: OrgRole): Promise<void> {
  await db`
    insert into orgs.members (org_id, account_id, role) values (${orgId}, ${accountId}, ${role})
    on conflict (org_id, account_id) do update set role = excluded.role`;
}

/** How many owners the organisation has. */
export async function countOwners(db: Db, orgId: string): Promise<number> {
  const [row] = await db<{ count: number }[]>`
    select count(*) from orgs.members where org_id = ${orgId} and role = 'owner'`;
  return row?.count ?? 0;
}
