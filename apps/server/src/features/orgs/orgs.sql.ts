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

/** An organisation with how many members it has. */
interface OrgRow {
  id: string;
  name: string;
  owners: number;
  members: number;
  created_at: string;
}

/** Every organisation, by name. */
export async function listOrgs(db: Db): Promise<OrgRow[]> {
  return db<OrgRow[]>`
    select o.id, o.name, o.created_at, count(*) filter (where m.role = 'owner')::int as owners, count(m.account_id)::int as members
    from orgs.orgs o left join orgs.members m on m.org_id = o.id group by o.id order by o.name, o.id`;
}

/** Members of an organisation with their addresses: who has most rights first, of these who is there longest. */
export async function membersOf(db: Db, orgId: string): Promise<OrgMember[]> {
  return db<OrgMember[]>`
    select m.account_id, a.email, a.name, m.role, m.created_at
    from orgs.members m left join accounts.people_view a on a.id = m.account_id
    where m.org_id = ${orgId}
    order by array_position(${[...orgRoles]}::text[], m.role), m.created_at, m.account_id`;
}

/** A member of an organisation. */
interface OrgMember {
  account_id: string;
  email: string | null;
  name: string | null;
  role: OrgRole;
  created_at: string;
}

/** The owner who is there longest, may sign in, and is not this member; undefined when there is none. */
export async function findHeir(db: Db, orgId: string, memberId: string): Promise<string | undefined> {
  const [row] = await db<{ account_id: string }[]>`
    select m.account_id from orgs.members m join accounts.standing_view a on a.id = m.account_id
    where m.org_id = ${orgId} and m.role = 'owner' and m.account_id <> ${memberId} and not a.suspended and not a.deleting
    order by m.created_at, m.account_id limit 1`;
  return row?.account_id;
}

/** The name of an organisation. */
export async function findOrgName(db: Db, id: string): Promise<string | undefined> {
  const [row] = await db<{ name: string }[]>`select name from orgs.orgs where id = ${id}`;
  return row?.name;
}

/** Takes a member out. */
export async function deleteMember(db: Db, orgId: string, accountId: string): Promise<void> {
  await db`delete from orgs.members where org_id = ${orgId} and account_id = ${accountId}`;
}

/** Organisations of an account, by name. */
export async function orgsOf(db: Db, accountId: string): Promise<{ id: string; name: string; role: OrgRole }[]> {
  return db<{ id: string; name: string; role: OrgRole }[]>`
    select o.id, o.name, m.role from orgs.orgs o join orgs.members m on m.org_id = o.id
    where m.account_id = ${accountId} order by o.name, o.id limit 1000`;
}

/** Organisations with other members and no owner but this account. */
export async function orgsOwnedAlone(db: Db, accountId: string): Promise<{ id: string; name: string }[]> {
  return db<{ id: string; name: string }[]>`
    select o.id, o.name from orgs.orgs o join orgs.members m on m.org_id = o.id
    where m.account_id = ${accountId} and m.role = 'owner'
      and not exists (select 1 from orgs.members x
        where x.org_id = o.id and x.role = 'owner' and x.account_id <> ${accountId})
      and exists (select 1 from orgs.members x where x.org_id = o.id and x.account_id <> ${accountId})
    order by o.id`;
}

/** Ends an account's memberships, and the organisations that had no other member. */
export async function leaveOrgs(db: Db, accountId: string): Promise<{ members: number; orgs: number }> {
  const left = await db<
    { org_id: string }[]
  >`delete from orgs.members where account_id = ${accountId} returning org_id`;
  const { count: orgs } = await db`
    delete from orgs.orgs o where id = any(${left.map((row) => row.org_id)}::uuid[])
      and not exists (select 1 from orgs.members m where m.org_id = o.id)`;
  return { members: left.length, orgs };
}

/**
 * The role of an account in an organisation; undefined when it is no member, or there is no such organisation. Nobody takes it
 * out until the transaction ends: what is made by this role is seen by whoever ends it.
 */
export async function orgRoleOf(db: Db, accountId: string, orgId: string): Promise<OrgRole | undefined> {
  const [row] = await db<{ role: OrgRole }[]>`
    select role from orgs.members where org_id = ${orgId} and account_id = ${accountId} for share`;
  return row?.role;
}
