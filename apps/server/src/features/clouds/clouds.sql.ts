import { type Db, nowOf, type Time } from '../../kernel/db/db.ts';
import type { EnvironmentState } from '../environments/index.ts';
import type { CloudMachine } from './clouds.driver.ts';
import type { MachineSize } from './clouds.file.ts';

/** A machine as it is known here, and its environment. */
export interface MachineRow {
  environment_id: string;
  /** Null: the environment is gone. */
  account_id: string | null;
  provider: 'managed_a' | 'managed_b';
  region: string;
  size: MachineSize | null;
  state: EnvironmentState | null;
  has_run: boolean;
  made: number;
  asked_at: string | null;
  ref: string | null;
  status: CloudMachine['status'] | null;
  /** Since when it is so. */
  status_since: string;
  failing_since: string | null;
  failure: string | null;
  seen_state: EnvironmentState | null;
  seen_since: string;
  now: string;
}

/** Writes a row for each environment that has none yet. */
export async function insertMissing(db: Db, time: Time): Promise<void> {
  const now = nowOf(db, time);
  await db`
    insert into clouds.machines (environment_id, provider, region, status_since, seen_since, due_at, created_at)
    select e.id, e.provider, coalesce(e.region, ''), ${now}, ${now}, ${now}, ${now} from environments.managed_view e
    where not exists (select from clouds.machines m where m.environment_id = e.id)
    on conflict do nothing`;
}

/**
 * Takes machines that are due, or whose environment is in another state than at the last look: `mostEach` of an account at most,
 * over all gateways, those first that wait longest. `lease`: marks what this look took.
 */
export async function takeDue(
  db: Db,
  time: Time,
  { lease, seconds, most, mostEach }: { lease: string; seconds: number; most: number; mostEach: number },
): Promise<string[]> {
  const now = nowOf(db, time);
  const rows = await db<{ environment_id: string }[]>`
    with known as (
      select m.environment_id, coalesce(e.account_id, m.environment_id) as account_id, m.due_at,
        m.leased_until > ${now} as is_leased, m.due_at <= ${now} or coalesce(m.seen_state, '') <> coalesce(e.state, '') as is_due
      from clouds.machines m left join environments.managed_view e on e.id = m.environment_id
      where m.due_at <= ${now} or coalesce(m.seen_state, '') <> coalesce(e.state, '') or m.leased_until > ${now}),
    ranked as (
      select environment_id, due_at, row_number() over (partition by account_id order by due_at, environment_id) as place,
        (select count(*) from known o where o.account_id = k.account_id and o.is_leased) as taken
      from known k where is_due and is_leased is not true),
    due as (
      select environment_id from ranked where place + taken <= ${mostEach} order by place, due_at limit ${most}),
    free as (
      select environment_id from clouds.machines
      where environment_id in (select environment_id from due) and (leased_until is null or leased_until <= ${now})
      for update skip locked)
    update clouds.machines m set leased_by = ${lease}, leased_until = ${now} + make_interval(secs => ${seconds})
    from free where m.environment_id = free.environment_id returning m.environment_id`;
  return rows.map(({ environment_id: id }) => id);
}

/** A machine that this look took; undefined when another process has it by now. Locked when `lock` says so. */
export async function findTaken(
  db: Db,
  time: Time,
  { id, lease, lock = false }: { id: string; lease: string; lock?: boolean },
): Promise<MachineRow | undefined> {
  const [row] = await db<MachineRow[]>`
    select m.environment_id, e.account_id, m.provider, m.region, e.size, e.state, coalesce(e.started_at is not null, false) as has_run,
      m.made, m.asked_at, m.ref, m.status, m.status_since, m.failing_since, m.failure, m.seen_state, m.seen_since,
      ${nowOf(db, time)} as now
    from clouds.machines m left join environments.managed_view e on e.id = m.environment_id
    where m.environment_id = ${id} and m.leased_by = ${lease} ${lock ? db`for update of m` : db``}`;
  return row;
}

/** Columns that a look changes. */
export interface MachineChange {
  made?: number;
  asked_at?: string | null;
  ref?: string | null;
  status?: CloudMachine['status'] | null;
  status_since?: string;
  failing_since?: string | null;
  failure?: string | null;
  seen_state?: EnvironmentState | null;
  seen_since?: string;
}

/** Changes a machine that this look took; false when another process has it by now. */
export async function changeTaken(
  db: Db,
  { id, lease }: { id: string; lease: string },
  change: MachineChange,
): Promise<boolean> {
  const { count } = await db`
    update clouds.machines set ${db(change as Record<string, string>)} where environment_id = ${id} and leased_by = ${lease}`;
  return count === 1;
}

/** Ends a look: the next one is due then. */
export async function giveBack(
  db: Db,
  time: Time,
  { id, lease, inMs }: { id: string; lease: string; inMs: number },
): Promise<void> {
  await db`
    update clouds.machines
    set leased_by = null, leased_until = null, due_at = ${nowOf(db, time)} + make_interval(secs => ${inMs / 1_000})
    where environment_id = ${id} and leased_by = ${lease}`;
}

/** Forgets a machine that this look took, for good. */
export async function deleteTaken(db: Db, { id, lease }: { id: string; lease: string }): Promise<void> {
  await db`delete from clouds.machines where environment_id = ${id} and leased_by = ${lease}`;
}

/** Machines that may be there, of environments that go with an account: those that another owner takes over do not. */
export async function countOfAccount(db: Db, accountId: string): Promise<number> {
  const [row] = await db<{ n: number }[]>`
    select count(*)::int as n from clouds.machines m join environments.managed_view e on e.id = m.environment_id
    where e.account_id = ${accountId} and m.asked_at is not null
      and not exists (select from environments.members_view o
        where o.environment_id = e.id and o.role = 'owner' and o.account_id <> ${accountId})`;
  return row?.n ?? 0;
}
