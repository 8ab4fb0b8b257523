import type { Db } from '../../kernel/db/db.ts';
import { fragmentOf } from '../../kernel/db/statement.ts';
import { listText } from '../../kernel/machine.ts';
import { runColumns, type RunRow } from './scheduler.sql.ts';
import { type RunState, runStates } from './scheduler.states.ts';

/** A run with its place in the order of creation, as text: it is more than a number holds. */
type ListedRun = RunRow & { ordinal: string };

/** Which runs are meant, newest first; `before` is the place of the last one that was seen. */
export interface RunFilter {
  limit: number;
  before?: string | undefined;
  scheduleId?: string | undefined;
  states?: readonly RunState[] | undefined;
  /** The host that had them last. */
  deviceId?: string | undefined;
  /** Created at this instant or later. */
  from?: string | undefined;
  /** Created before this instant. */
  to?: string | undefined;
}

/** Runs of an account, newest first: one more than asked for, when there is one. */
export async function listRuns(db: Db, accountId: string, filter: RunFilter): Promise<ListedRun[]> {
  const { limit, before, scheduleId, states, deviceId, from, to } = filter;
  const end = db`order by r.ordinal desc limit ${limit + 1}`;
  const isMeant = db`
    r.account_id = ${accountId} ${scheduleId === undefined ? db`` : db`and r.schedule_id = ${scheduleId}`}
      ${deviceId === undefined ? db`` : db`and r.pool = 'host' and ${lastDevice(db)} = ${deviceId}::text`}
      ${from === undefined ? db`` : db`and r.created_at >= ${from}::timestamptz`}
      ${to === undefined ? db`` : db`and r.created_at < ${to}::timestamptz`}
      ${before === undefined ? db`` : db`and r.ordinal < ${before}::text::bigint`}`;
  if (states === undefined) {
    return db<ListedRun[]>`
      select ${runColumns(db)}, r.ordinal::text as ordinal from scheduler.runs r where ${isMeant} ${end}`;
  }
  // Each state has a part of its own: an index has the newest of one, and no index has those of several in order.
  const parts = states.map(
    (state) => db`(select r.id from scheduler.runs r where ${isMeant} and r.state in ${oneState(state)(db)} ${end})`,
  );
  return db<ListedRun[]>`
    select ${runColumns(db)}, r.ordinal::text as ordinal from scheduler.runs r
    where r.id in (${parts.reduce((all, part) => db`${all} union all ${part}`)}) ${end}`;
}

/** As text: a plan that does not know the state cannot use the partial indexes. */
const oneState = (state: RunState) => fragmentOf(listText([state]));

/** The host that had a run of hosts last; null: none. As the index `runs_of_device` has it. */
export const lastDevice = fragmentOf(
  "coalesce(r.holder_id::text, split_part(r.answers[array_upper(r.answers, 1)], ':', 2))",
);

/** A machine that is there, as far as it matters to what waits. */
export interface OnlineHost {
  device_id: string;
  tags: string[];
  kinds: string[];
  paused: boolean;
}

/** More machines than this that are online at once are not looked at. */
const mostOnline = 1_000;

/** Machines of an account that claimed, or held a run, in the last 45 s. */
export async function listOnline(db: Db, accountId: string, now: string): Promise<OnlineHost[]> {
  return db<OnlineHost[]>`
    select device_id, coalesce(tags, reported_tags) as tags, kinds, paused from scheduler.hosts
    where account_id = ${accountId} and last_seen > ${now}::timestamptz - interval '45 s' limit ${mostOnline}`;
}

/** A machine of an environment in a project, which runs or is on its way. */
export interface ProjectMachine {
  project_id: string;
  device_id: string | null;
  is_there: boolean;
  is_coming: boolean;
}

/** Machines of an account's environments in projects that run, or are on their way. */
export async function listMachines(
  db: Db,
  accountId: string,
  projectIds: readonly string[],
): Promise<ProjectMachine[]> {
  if (projectIds.length === 0) return [];
  return db<ProjectMachine[]>`
    select project_id, device_id, is_there, is_coming from environments.daemons_view
    where account_id = ${accountId} and project_id = any(${[...projectIds]}::uuid[]) and (is_there or is_coming)`;
}

/** Devices that approved the command of each schedule, as `<schedule>:<hash>`. */
export async function listApproved(db: Db, scheduleIds: readonly string[]): Promise<Map<string, Set<string>>> {
  const rows = await db<{ schedule_id: string; device_id: string; command_hash: string }[]>`
    select schedule_id, device_id, command_hash from schedules.approval_view
    where schedule_id = any(${[...scheduleIds]}::uuid[])`;
  const approved = new Map<string, Set<string>>();
  for (const { schedule_id, device_id, command_hash } of rows) {
    const key = `${schedule_id}:${command_hash}`;
    approved.set(key, (approved.get(key) ?? new Set()).add(device_id));
  }
  return approved;
}

/** Those of the pending runs that another run of their schedule is before. */
export async function listBlocked(db: Db, ids: readonly string[], now: string): Promise<Set<string>> {
  const rows = await db<{ id: string }[]>`
    select r.id from scheduler.runs r
    where r.id = any(${[...ids]}::uuid[]) and exists (
      select 1 from scheduler.runs other
      where other.schedule_id = r.schedule_id
        and (other.state = 'running' or other.ending_until > ${now}
          or (other.state = 'pending' and (other.scheduled_for, other.id) < (r.scheduled_for, r.id))))`;
  return new Set(rows.map(({ id }) => id));
}

/** Whether the account may run anything. */
export async function mayRun(db: Db, accountId: string): Promise<boolean> {
  const [row] = await db<{ may_run: boolean }[]>`select may_run from accounts.standing_view where id = ${accountId}`;
  return row?.may_run ?? false;
}

/** Chains that wait for their next step: running, with no step that is active; dealt by account in turn. */
export async function listIdleChains(
  db: Db,
  now: string,
  limit: number,
): Promise<{ id: string; schedule_id: string }[]> {
  return db`
    select c.id, c.schedule_id from scheduler.runs c
    where c.kind = 'chain'
      and (c.state = 'running' or (c.state = 'pending' and c.pool = 'cloud' and c.not_before <= ${now}
        and not exists (select 1 from scheduler.runs other
          where other.schedule_id = c.schedule_id
            and (other.state = 'running'
              or (other.state = 'pending' and (other.scheduled_for, other.id) < (c.scheduled_for, c.id))))))
      and not exists (select 1 from scheduler.runs r where r.parent_run_id = c.id
        and r.state in ${runStates.sql('active')(db)})
    order by row_number() over (partition by c.account_id order by c.created_at), c.created_at limit ${limit}`;
}

/** Steps that are not over although their chain is. */
export async function listOrphanedSteps(db: Db, limit: number): Promise<{ id: string; schedule_id: string }[]> {
  return db`
    select r.id, r.schedule_id from scheduler.runs r join scheduler.runs c on c.id = r.parent_run_id
    where r.state in ${runStates.sql('active')(db)} and r.chain_step is not null
      and c.state <> 'running'
    limit ${limit}`;
}

/** Steps that a chain's attempt has created, in order. */
export async function listSteps(db: Db, parentId: string, since: string): Promise<RunRow[]> {
  return db<RunRow[]>`
    select ${runColumns(db)} from scheduler.runs r
    where r.parent_run_id = ${parentId} and r.created_at >= ${since} order by r.ordinal`;
}

/** What the last success of a schedule before a run wrote, of the 50 runs before it; undefined: none of them. */
export async function lastLogOf(db: Db, { id, schedule_id: scheduleId }: RunRow): Promise<string | undefined> {
  const [row] = await db<{ log_tail: string | null }[]>`
    select log_tail from (
      select state, ordinal, log_tail from scheduler.runs
      where schedule_id = ${scheduleId} and ordinal < (select ordinal from scheduler.runs where id = ${id})
      order by ordinal desc limit 50) r
    where state = 'succeeded' order by ordinal desc limit 1`;
  return row?.log_tail ?? undefined;
}
