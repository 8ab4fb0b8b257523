import { type Db, nowOf, type Time } from '../../kernel/db/db.ts';
import { pageEnd, type PagedRow, type PageQuery } from '../../kernel/db/paging.ts';
import type { Quota } from '../../kernel/records/quotas.ts';
import { environmentStatesTable } from './environments.states.ts';
import type { EnvironmentChange, EnvironmentRow, SeenEnvironment } from './environments.rows.ts';

const columns = (db: Db) => db`
  e.id, e.account_id, e.project_id, e.org_id, e.for_account_id, e.isolation, e.name, e.slug, e.provider, e.region, e.size,
  e.state, e.state_reason, e.device_id, e.provider_ref, e.public_ip, e.idle_timeout_minutes, e.last_activity_at, e.started_at,
  e.stopped_at, e.hourly_rate_micro_eur, e.included_seconds_used, e.metadata, e.created_at, e.updated_at, e.destroyed_at`;

/** Limit of the environments of an account; destroyed ones do not count. */
export const environmentsQuota: Quota = {
  name: 'environments',
  remedy: 'destroy one that is not needed any more',
  async count(db, accountId) {
    const [row] = await db<{ n: number }[]>`
      select count(*)::int as n from environments.environments
      where account_id = ${accountId} and state <> 'destroyed'`;
    return row?.n ?? 0;
  },
};

/** Fields of a new environment. */
export type NewEnvironment = Pick<
  EnvironmentRow,
  | 'account_id'
  | 'project_id'
  | 'org_id'
  | 'for_account_id'
  | 'isolation'
  | 'name'
  | 'slug'
  | 'provider'
  | 'region'
  | 'size'
  | 'state'
  | 'idle_timeout_minutes'
  | 'hourly_rate_micro_eur'
  | 'metadata'
>;

/** Stores an environment; undefined when its slug is another's. */
export async function insertEnvironment(db: Db, time: Time, one: NewEnvironment): Promise<EnvironmentRow | undefined> {
  const now = nowOf(db, time);
  const [row] = await db<EnvironmentRow[]>`
    insert into environments.environments as e (account_id, project_id, org_id, for_account_id, isolation, name, slug, provider,
      region, size, state, idle_timeout_minutes, hourly_rate_micro_eur, metadata, created_at, updated_at)
    values (${one.account_id}, ${one.project_id}, ${one.org_id}, ${one.for_account_id}, ${one.isolation}, ${one.name},
      ${one.slug}, ${one.provider}, ${one.region}, ${one.size}, ${one.state}, ${one.idle_timeout_minutes},
      ${one.hourly_rate_micro_eur}, ${JSON.stringify(one.metadata)}::text::jsonb, ${now}, ${now})
    on conflict (slug) do nothing
    returning ${columns(db)}`;
  return row;
}

/** The one live environment of a developer in a project with a machine for each; none is made until the transaction ends. */
export async function lockLive(db: Db, projectId: string, accountId: string): Promise<string | undefined> {
  await db`select pg_advisory_xact_lock(hashtextextended(${`environment:${projectId}:${accountId}`}, 0))`;
  const [row] = await db<{ id: string }[]>`
    select id from environments.environments
    where project_id = ${projectId} and for_account_id = ${accountId} and state in ${environmentStatesTable.sql('live')(db)}`;
  return row?.id;
}

/** An environment in which an account has a role; locked until the transaction ends when `lock` says so. */
export async function findSeen(
  db: Db,
  accountId: string,
  id: string,
  lock = false,
): Promise<SeenEnvironment | undefined> {
  const [row] = await db<SeenEnvironment[]>`
    select ${columns(db)}, m.role from environments.environments e
    join environments.members m on m.environment_id = e.id and m.account_id = ${accountId}
    where e.id = ${id} ${lock ? db`for update of e` : db``}`;
  return row;
}

/** An environment of anybody, locked until the transaction ends; without patience undefined when somebody else has it. */
export async function lockEnvironment(
  db: Db,
  id: string,
  { isPatient = true }: { isPatient?: boolean } = {},
): Promise<EnvironmentRow | undefined> {
  const [row] = await db<EnvironmentRow[]>`
    select ${columns(db)} from environments.environments e where e.id = ${id}
    for update ${isPatient ? db`` : db`skip locked`}`;
  return row;
}

/** Locks environments until the transaction ends, in one order. */
export async function lockEnvironments(db: Db, ids: readonly string[]): Promise<void> {
  await db`select from environments.environments where id = any(${[...ids]}::uuid[]) order by id for update`;
}

/** Locks the environments of an organisation that are not destroyed, in the same order; answers their ids. */
export async function lockOfOrg(db: Db, orgId: string): Promise<string[]> {
  const rows = await db<{ id: string }[]>`
    select id from environments.environments where org_id = ${orgId} and state <> 'destroyed' order by id for update`;
  return rows.map(({ id }) => id);
}

/** Says when an environment was active, unless it was later already; never in the future. `at`: RFC 3339. */
export async function noteActivity(db: Db, time: Time, id: string, at: string): Promise<void> {
  await db`
    update environments.environments set last_activity_at = least(${at}::timestamptz, ${nowOf(db, time)})
    where id = ${id} and (last_activity_at is null or last_activity_at < ${at}::timestamptz)`;
}

/** Environments in which an account has a role and that are not destroyed, newest first. */
export async function listSeen(
  db: Db,
  accountId: string,
  { projectId, isForOwn = false }: { projectId?: string | undefined; isForOwn?: boolean },
  page: PageQuery,
): Promise<(EnvironmentRow & PagedRow)[]> {
  return db<(EnvironmentRow & PagedRow)[]>`
    select ${columns(db)}, e.created_at::text as page_at from environments.environments e
    join environments.members m on m.environment_id = e.id and m.account_id = ${accountId}
    where e.state <> 'destroyed' ${projectId === undefined ? db`` : db`and e.project_id = ${projectId}`}
      ${isForOwn ? db`and e.for_account_id = ${accountId}` : db``}
      ${pageEnd(db, page, { at: db`e.created_at`, id: db`e.id` })}`;
}

/** Changes a locked environment. */
export async function changeEnvironment(
  db: Db,
  now: string,
  id: string,
  change: EnvironmentChange,
): Promise<EnvironmentRow> {
  const [row] = await db<EnvironmentRow[]>`
    update environments.environments e set ${db({ ...change, updated_at: now } as never)}
    where e.id = ${id} returning ${columns(db)}`;
  return row as EnvironmentRow;
}

/**
 * An environment whose owner left, or is lowered, goes to the agreed owner who is there longest; answers who that is.
 */
export async function passOnRow(db: Db, accountId: string, id: string): Promise<string | undefined> {
  const [row] = await db<{ account_id: string }[]>`
    update environments.environments e set account_id = heir.account_id
    from (
      select distinct on (m.environment_id) m.environment_id, m.account_id from environments.members m
      where m.role = 'owner' and not m.is_unasked and m.account_id <> ${accountId}
        and m.environment_id in (select o.id from environments.environments o where o.account_id = ${accountId})
      order by m.environment_id, m.created_at, m.account_id) heir
    where e.id = heir.environment_id and e.id = ${id} returning e.account_id`;
  return row?.account_id;
}

/** Environments of others that are not destroyed in which an account published a port. */
export async function publishedIn(db: Db, accountId: string): Promise<string[]> {
  const rows = await db<{ id: string }[]>`
    select distinct e.id from environments.environments e join environments.ports p on p.environment_id = e.id
    where coalesce(p.published_by, p.opened_by) = ${accountId} and e.account_id <> ${accountId} and e.state <> 'destroyed'
    order by e.id`;
  return rows.map(({ id }) => id);
}

/** Forgets who did something in environments that stay. */
export async function forgetDoer(db: Db, accountId: string): Promise<void> {
  await db`delete from environments.tokens where created_by = ${accountId}`;
  await db`delete from environments.tickets where account_id = ${accountId}`;
  await db`update environments.ports set opened_by = null where opened_by = ${accountId}`;
  await db`update environments.ports set published_by = null where published_by = ${accountId}`;
  await db`update environments.secrets set created_by = null where created_by = ${accountId}`;
}

/** Deletes rows that were destroyed 90 days ago. */
export async function sweepDestroyed(db: Db, time: Time): Promise<void> {
  await db`
    delete from environments.environments
    where state = 'destroyed' and destroyed_at < ${nowOf(db, time)} - interval '90 days'`;
}
