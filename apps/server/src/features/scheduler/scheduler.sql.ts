import type { Db } from '../../kernel/db/db.ts';
import { fragmentOf, leastId, statement } from '../../kernel/db/statement.ts';
import { dropOldSpecs, dropUnusedSpecs, storeSpecs } from './work/specs.sql.ts';
import { type RunState, runStates } from './scheduler.states.ts';

export type Origin = 'slot' | 'catch_up' | 'manual' | 'event' | 'after' | 'chain';

/** The columns that a run copies from its schedule. */
export interface RunCopy {
  name: string;
  kind: 'agent' | 'shell' | 'http' | 'chain' | 'phone_action';
  spec: Record<string, unknown>;
  /** Header values of a webhook, sealed as in its schedule; `spec` has their names. */
  sealed_headers: Buffer | null;
  pool: 'host' | 'cloud';
  target_type: 'host' | 'tags' | 'any' | 'cloud' | 'cloud_vm';
  target_id: string | null;
  target_tags: string[] | null;
  failover: string[][] | null;
  command_hash: string | null;
  overlap: 'skip' | 'queue' | 'kill';
  timeout_s: number;
  retries: number;
  retry_backoff_s: number;
  budget_micro_usd: number | null;
  /** The key that saved this work; null: saved by an earlier version. */
  made_by: string | null;
}

/** A run as it is stored. */
export interface RunRow extends RunCopy {
  id: string;
  account_id: string;
  schedule_id: string;
  /** The key that it acts for. */
  key_id: string | null;
  scheduled_for: string;
  origin: Origin;
  state: RunState;
  attempt: number;
  created_at: string;
  not_before: string;
  late_at: string | null;
  holder_id: string | null;
  lease_expires_at: string | null;
  started_at: string | null;
  finished_at: string | null;
  retries_used: number;
  leases_lost: number;
  exit_code: number | null;
  /** What ended with its time, or with a cancel. */
  ended_processes: number | null;
  cost_before_micro_usd: number;
  cost_micro_usd: number;
  log_tail: string | null;
  session_id: string | null;
  error: string | null;
  /** `<attempt>:<holder>` of every result that was accepted. */
  answers: string[];
  parent_run_id: string | null;
  chain_step: number | null;
  /** An attempt that was ended and whose process may live, `<attempt>:<holder>`, until `ending_until`. */
  ending: string | null;
  ending_until: string | null;
  /** Of a long spec, which stands in `scheduler.specs` (`findSpec`); `spec` is empty then. */
  spec_hash: Buffer | null;
  /** Machines that handed it back, as it is not approved on them. */
  refused_by: string[];
}

export const runColumnsText = `
  r.id, r.account_id, r.schedule_id, r.key_id, r.made_by, r.scheduled_for, r.origin, r.state, r.attempt, r.created_at, r.not_before, r.name,
  r.kind, r.spec, r.spec_hash, r.sealed_headers, r.pool, r.target_type, r.target_id, r.target_tags, r.failover, r.command_hash, r.overlap, r.timeout_s,
  r.retries, r.retry_backoff_s, r.budget_micro_usd, r.late_at, r.holder_id, r.lease_expires_at, r.started_at,
  r.finished_at, r.retries_used, r.leases_lost, r.exit_code, r.ended_processes, r.cost_before_micro_usd, r.cost_micro_usd, r.log_tail,
  r.session_id, r.error, r.answers, r.parent_run_id, r.chain_step, r.ending, r.ending_until, r.refused_by`;
export const runColumns = fragmentOf(runColumnsText);

/** Of any schedule: for queries that read all active runs. */
export const isOfAny = fragmentOf(`schedule_id >= ${leastId}`);

/** A run that is about to be stored. */
export interface NewRun extends RunCopy {
  account_id: string;
  schedule_id: string;
  key_id: string | null;
  scheduled_for: string;
  origin: Origin;
  state: RunState;
  error: string | null;
  late_at: string | null;
  finished_at: string | null;
  parent_run_id: string | null;
  chain_step: number | null;
}

/** The columns read back from a created run: few, since thousands are created at once. */
export type CreatedRun = Pick<
  RunRow,
  'id' | 'account_id' | 'schedule_id' | 'scheduled_for' | 'state' | 'attempt' | 'name' | 'overlap' | 'parent_run_id'
>;

/** Stores runs in one statement; a slot that has its run already is left out of the answer. */
export async function insertRuns(db: Db, runs: readonly NewRun[], now: string): Promise<CreatedRun[]> {
  if (runs.length === 0) return [];
  const specs = await storeSpecs(db, runs, now);
  const rows = runs.map((run, n) => ({
    ...run,
    ...specs[n],
    sealed_headers: run.sealed_headers?.toString('hex') ?? null,
  }));
  return db<CreatedRun[]>`
    insert into scheduler.runs as r (account_id, schedule_id, key_id, made_by, scheduled_for, origin, state, created_at, not_before, name,
      kind, spec, spec_hash, sealed_headers, pool, target_type, target_id, target_tags, failover, command_hash, overlap, timeout_s, retries,
      retry_backoff_s, budget_micro_usd, late_at, parent_run_id, chain_step, error, finished_at)
    select n.account_id, n.schedule_id, n.key_id, n.made_by, n.scheduled_for, n.origin, n.state, ${now}, ${now}, n.name, n.kind, n.spec,
      decode(n.spec_hash, 'hex'), decode(n.sealed_headers, 'hex'),
      n.pool, n.target_type, n.target_id,
      case when n.target_tags is not null then array(select json_array_elements_text(n.target_tags)) end, n.failover,
      n.command_hash, n.overlap, n.timeout_s, n.retries, n.retry_backoff_s, n.budget_micro_usd, n.late_at,
      n.parent_run_id, n.chain_step, n.error, n.finished_at
    from json_to_recordset(${JSON.stringify(rows)}::json) as n(account_id uuid, schedule_id uuid, key_id uuid, made_by uuid,
      scheduled_for timestamptz, origin text, state text, name text, kind text, spec json, spec_hash text, sealed_headers text, pool text, target_type text,
      target_id uuid, target_tags json, failover json, command_hash text, overlap text, timeout_s int, retries int,
      retry_backoff_s int, budget_micro_usd bigint, late_at timestamptz, parent_run_id uuid, chain_step int, error text,
      finished_at timestamptz)
    on conflict (schedule_id, scheduled_for) where origin in ('slot', 'catch_up') do nothing
    returning r.id, r.account_id, r.schedule_id, r.scheduled_for, r.state, r.attempt, r.name, r.overlap, r.parent_run_id`;
}

/** Rewrites what waiting runs carry after their schedule was edited. The schedule is locked. */
export async function rewriteWaiting(
  db: Db,
  { account_id, id }: { account_id: string; id: string },
  copy: RunCopy,
  now: string,
): Promise<void> {
  const { spec, failover, ...plain } = copy;
  const isWaiting = db`schedule_id = ${id} and state in ${runStates.sql('waiting')(db)}`;
  const [waiting] = await db`select 1 from scheduler.runs where ${isWaiting} limit 1`;
  if (!waiting) return dropUnusedSpecs(db, id);
  const [carried] = await storeSpecs(db, [{ account_id, schedule_id: id, spec }], now);
  const hash = carried?.spec_hash ?? null;
  const values = {
    ...plain,
    spec: JSON.stringify(carried?.spec),
    spec_hash: hash === null ? null : Buffer.from(hash, 'hex'),
    failover: failover && JSON.stringify(failover),
  };
  await db`
    update scheduler.runs set ${db(values)},
      key_id = case when made_by is distinct from ${copy.made_by}::uuid then ${copy.made_by} else key_id end
    where ${isWaiting}`;
  await dropUnusedSpecs(db, id);
}

/** How many runs of each schedule wait and run. */
export async function countActive(
  db: Db,
  scheduleIds: readonly string[],
): Promise<{ schedule_id: string; running: number; waiting: number; asks: boolean }[]> {
  return db`
    select schedule_id, count(*) filter (where state = 'running')::int as running,
      count(*) filter (where state <> 'running')::int as waiting, bool_or(state = 'awaiting_approval') as asks
    from scheduler.runs
    where schedule_id = any(${scheduleIds as string[]}::uuid[]) and state in ${runStates.sql('active')(db)}
    group by schedule_id`;
}

/** Runs of each schedule that were created after its instant, without those that were skipped; and what they cost. */
export async function countSince(
  db: Db,
  since: readonly { schedule_id: string; hour: string; day: string }[],
): Promise<{ schedule_id: string; created: number; cost_micro_usd: number }[]> {
  if (since.length === 0) return [];
  return db`
    select s.schedule_id,
      (select count(*)::int from scheduler.runs r
        where r.schedule_id = s.schedule_id and r.created_at > s.hour and r.state <> 'skipped') as created,
      (select coalesce(sum(r.cost_micro_usd), 0)::bigint from scheduler.runs r
        where r.schedule_id = s.schedule_id and r.created_at >= s.day - interval '1 day'
          and coalesce(r.finished_at, r.started_at, r.created_at) >= s.day) as cost_micro_usd
    from json_to_recordset(${JSON.stringify(since)}::json) as s(schedule_id uuid, hour timestamptz, day timestamptz)`;
}

/** A run, unlocked. */
export async function findRun(db: Db, id: string, accountId?: string): Promise<RunRow | undefined> {
  const [row] = await (accountId === undefined ? selectRun(db, id) : selectOwnRun(db, id, accountId));
  return row;
}
const selectRun = statement<RunRow>(`select ${runColumnsText} from scheduler.runs r where r.id = $1`);
const selectOwnRun = statement<RunRow>(
  `select ${runColumnsText} from scheduler.runs r where r.id = $1 and r.account_id = $2`,
);

/** A run, locked; after the lock on its schedule. */
export async function lockRun(db: Db, id: string): Promise<RunRow | undefined> {
  const [row] = await selectLocked(db, id);
  return row;
}
const selectLocked = statement<RunRow>(`select ${runColumnsText} from scheduler.runs r where r.id = $1 for update`);

/** Active runs of a schedule, or one of them, locked. */
export async function lockActive(db: Db, scheduleId: string, id?: string): Promise<RunRow[]> {
  return db<RunRow[]>`
    select ${runColumns(db)} from scheduler.runs r
    where r.schedule_id = ${scheduleId} and r.state in ${runStates.sql('active')(db)}
      ${id === undefined ? db`` : db`and r.id = ${id}`}
    order by r.ordinal for update`;
}

/** The first runs that are under way without a person being asked, locked. */
export async function lockUnasked(db: Db, most: number): Promise<RunRow[]> {
  return db<RunRow[]>`
    select ${runColumns(db)} from scheduler.runs r
    where r.state in ${runStates.sql('unasked')(db)} and ${isOfAny(db)}
    order by r.ordinal limit ${most} for update`;
}

/** Columns that a move changes. */
export type RunChange = Partial<
  Omit<RunRow, Exclude<keyof RunCopy, 'spec' | 'sealed_headers'> | 'id' | 'account_id' | 'schedule_id' | 'created_at'>
>;

/** Changes a run as a move of the table says (`scheduler.moves.ts`); it is locked, and its schedule. */
export async function changeRun(db: Db, run: RunRow, change: RunChange): Promise<RunRow> {
  const { spec, ...plain } = change;
  const values = { ...plain, ...(spec && { spec: JSON.stringify(spec), spec_hash: null }) };
  const [row] = await db<RunRow[]>`
    update scheduler.runs r set ${db(values)} where r.id = ${run.id} returning ${runColumns(db)}`;
  if (spec && run.spec_hash) await dropOldSpecs(db, run.schedule_id);
  return row as RunRow;
}

/** The run of a slot. */
export async function lockSlot(db: Db, scheduleId: string, scheduledFor: string): Promise<RunRow | undefined> {
  const [row] = await db<RunRow[]>`
    select ${runColumns(db)} from scheduler.runs r
    where r.schedule_id = ${scheduleId} and r.scheduled_for = ${scheduledFor} and r.origin in ('slot', 'catch_up')
    for update`;
  return row;
}

/** Deletes the oldest runs that are over of each account with more than `most` runs, `piece` at a time; answers how many went. */
export async function trimRuns(db: Db, most: number, piece = 5_000): Promise<number> {
  const full = await db<{ account_id: string }[]>`
    select account_id from scheduler.runs group by account_id having count(*) > ${most}`;
  let trimmed = 0;
  for (const { account_id: accountId } of full) {
    for (let gone = -1; gone !== 0; trimmed += Math.max(gone, 0)) {
      const { count } = await db`
        delete from scheduler.runs where id in (
          select id from scheduler.runs
          where account_id = ${accountId} and state not in ${runStates.sql('active')(db)}
            and ordinal < (select ordinal from scheduler.runs where account_id = ${accountId}
              order by ordinal desc offset ${most - 1} limit 1)
          order by ordinal limit ${piece})`;
      gone = count;
    }
  }
  return trimmed;
}

/** Deletes what is over and was created before an instant (RFC 3339). */
export async function sweepRuns(db: Db, before: string): Promise<void> {
  await db`
    delete from scheduler.runs
    where created_at < ${before}
      and state not in ${runStates.sql('active')(db)}`;
}
