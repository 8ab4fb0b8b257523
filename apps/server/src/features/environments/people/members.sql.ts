import type { Db } from '../../../kernel/db/db.ts';
import type { EnvironmentRole, EnvironmentRow, MemberRow } from '../environments.rows.ts';

const columns = (db: Db) => db`
  m.environment_id, m.account_id, m.role, m.linux_username, m.place, m.ssh_public_key is not null as has_key,
  m.provisioned_at, m.created_at, m.created_at as accepted_at, m.is_unasked`;

/** Members of an environment who have accepted, in the order of their places. */
export async function membersOf(db: Db, environmentId: string): Promise<MemberRow[]> {
  return db<MemberRow[]>`
    select ${columns(db)}, a.email, a.name from environments.members m
    join accounts.people_view a on a.id = m.account_id
    where m.environment_id = ${environmentId} order by m.place`;
}

/** Accounts of all members of an environment. */
export async function memberIds(db: Db, environmentId: string): Promise<string[]> {
  const rows = await db<{ account_id: string }[]>`
    select account_id from environments.members where environment_id = ${environmentId}`;
  return rows.map(({ account_id: id }) => id);
}

/** Whether a project is an account's alone, and no organisation's. */
export async function ownsProject(db: Db, accountId: string, projectId: string): Promise<boolean> {
  const rows = await db`
    select from projects.projects_view where id = ${projectId} and account_id = ${accountId} and org_id is null`;
  return rows.length > 0;
}

/** Adds a member. */
export async function insertMember(
  db: Db,
  now: string,
  one: Pick<MemberRow, 'environment_id' | 'account_id' | 'role' | 'linux_username' | 'place' | 'is_unasked'>,
): Promise<void> {
  await db`
    delete from environments.removed where environment_id = ${one.environment_id} and account_id = ${one.account_id}`;
  await db`insert into environments.members ${db({ ...one, created_at: now })}`;
}

/** Changes a member's role; `isUnasked`: they become an owner, and have not agreed to it. */
export async function changeRole(
  db: Db,
  environmentId: string,
  accountId: string,
  role: EnvironmentRole,
  isUnasked = false,
): Promise<void> {
  await db`
    update environments.members set role = ${role}, is_unasked = ${isUnasked}
    where environment_id = ${environmentId} and account_id = ${accountId}`;
}

/** Keeps the SSH key of a member; the machine has still to take it. */
export async function keepSshKey(db: Db, environmentId: string, accountId: string, key: string): Promise<void> {
  await db`
    update environments.members set ssh_public_key = ${key}, provisioned_at = null
    where environment_id = ${environmentId} and account_id = ${accountId}`;
}

/** Forgets the SSH key of a member; false when there was none. */
export async function dropSshKey(db: Db, environmentId: string, accountId: string): Promise<boolean> {
  const { count } = await db`
    update environments.members set ssh_public_key = null, provisioned_at = null
    where environment_id = ${environmentId} and account_id = ${accountId} and ssh_public_key is not null`;
  return count > 0;
}

/** Takes a member out. */
export async function deleteMember(db: Db, environmentId: string, accountId: string): Promise<void> {
  await db`delete from environments.members where environment_id = ${environmentId} and account_id = ${accountId}`;
}

/** Remembers that others took somebody out, 1,000 of an environment: who was taken out first is forgotten first. */
export async function noteRemoved(db: Db, now: string, environmentId: string, accountId: string): Promise<void> {
  await db`
    insert into environments.removed (environment_id, account_id, removed_at)
    values (${environmentId}, ${accountId}, ${now}) on conflict do nothing`;
  await db`
    delete from environments.removed where environment_id = ${environmentId} and account_id in (
      select account_id from environments.removed where environment_id = ${environmentId}
      order by removed_at desc, account_id offset 1000)`;
}

/**
 * Of an environment's other members the one of the highest role (an owner among them has not agreed to be one), and of
 * those who is there longest; nobody who is suspended, and no viewer: who may only look must not come to own it.
 */
export async function heirOf(
  db: Db,
  environmentId: string,
  accountId: string,
): Promise<Pick<MemberRow, 'account_id' | 'role'> | undefined> {
  const [heir] = await db<Pick<MemberRow, 'account_id' | 'role'>[]>`
    select m.account_id, m.role from environments.members m
    join accounts.standing_view a on a.id = m.account_id and not a.suspended
    where m.environment_id = ${environmentId} and m.account_id <> ${accountId} and m.role <> 'viewer'
    order by array_position(array['owner', 'maintainer', 'developer'], m.role), m.created_at, m.account_id limit 1`;
  return heir;
}

/** Environments with other members and no owner who agreed but this account; who is being deleted is neither. */
export async function environmentsOwnedAlone(
  db: Db,
  accountId: string,
): Promise<Pick<EnvironmentRow, 'id' | 'name' | 'slug' | 'provider' | 'state'>[]> {
  return db<Pick<EnvironmentRow, 'id' | 'name' | 'slug' | 'provider' | 'state'>[]>`
    select e.id, e.name, e.slug, e.provider, e.state
    from environments.members m join environments.environments e on e.id = m.environment_id
    cross join lateral (
      select count(*) > 0 as some, coalesce(bool_or(x.role = 'owner' and not x.is_unasked), false) as owners
      from environments.members x join accounts.standing_view a on a.id = x.account_id and not a.deleting
      where x.environment_id = e.id and x.account_id <> ${accountId}) others
    where m.account_id = ${accountId} and m.role = 'owner' and e.state <> 'destroyed' and others.some and not others.owners
    order by e.id`;
}
