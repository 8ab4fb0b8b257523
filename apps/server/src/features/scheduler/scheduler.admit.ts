import { inQuietHours, isSkippedDay } from '@svc/timetable';
import type { Kernel } from '../../kernel/kernel.ts';
import type { Db } from '../../kernel/db/db.ts';
import { type Instant, plus } from '../../kernel/db/instant.ts';
import { defaultZone, effective, type ScheduleTerms, skipDaysOf, touchLastRun, zoneOf } from '../schedules/index.ts';
import { noteAttempt } from './attempts/attempts.ts';
import { resolveRun, tellAwaitingApproval, tellBudgetReached } from './outcomes/alerts.ts';
import type { Changes } from './scheduler.changes.ts';
import {
  changeRun,
  countActive,
  countSince,
  type CreatedRun,
  insertRuns,
  lockActive,
  type NewRun,
  type Origin,
  type RunCopy,
  type RunRow,
} from './scheduler.sql.ts';
import { columnsFor, move, type Overlaps, type Step } from './scheduler.moves.ts';

/** The objects that the scheduler's parts share. */
export interface SchedulerParts {
  readonly kernel: Kernel;
  readonly changes: Changes;
}

/** A run that may be created; its schedule is locked. */
export interface RunCandidate {
  schedule: ScheduleTerms;
  scheduledFor: string;
  origin: Origin;
  parent?: { runId: string; step: number };
  /** The key that it acts for, where that is not the one that saved the schedule. */
  keyId?: string | null;
  /** It is not run: the schedule's latest slot stands for so many. */
  passedOver?: number | undefined;
}

/** The columns that a run copies from its schedule. */
export function copyOf(schedule: ScheduleTerms): RunCopy {
  const { target, overlap, timeout_s, retries, retry_backoff_s } = effective(schedule);
  return {
    name: schedule.name,
    kind: schedule.kind,
    spec: schedule.spec,
    sealed_headers: schedule.sealed_headers,
    pool: target.type === 'cloud' ? 'cloud' : 'host',
    target_type: target.type,
    target_id: target.type === 'host' ? target.device_id : target.type === 'cloud_vm' ? target.project_id : null,
    target_tags: target.type === 'tags' ? target.tags : null,
    failover: schedule.failover,
    command_hash: schedule.command_hash,
    overlap,
    timeout_s,
    retries,
    retry_backoff_s,
    budget_micro_usd: schedule.policy?.budget_micro_usd_per_run ?? null,
    made_by: schedule.key_id,
  };
}

interface Counts {
  running: number;
  waiting: number;
  /** One of those that wait waits for a person. */
  asks: boolean;
  created: number;
  cost: number;
}

/**
 * Creates the runs that policy, budget and overlap allow, in the transaction that holds the schedules' locks, and
 * answers them in no particular order. A slot that overlaps is kept as a skipped run; one that a limit forbids, and a
 * run by hand that overlaps, is not created.
 */
export async function admit(
  parts: SchedulerParts,
  db: Db,
  candidates: readonly RunCandidate[],
  now: Instant,
): Promise<CreatedRun[]> {
  const counts = await count(db, candidates, now);
  const accepted: NewRun[] = [];
  for (const candidate of candidates) {
    const { schedule } = candidate;
    const state = counts.get(schedule.id) as Counts;
    if (await isRefused(parts, db, candidate, state, now)) continue;
    const verdict = candidate.passedOver === undefined ? overlapOf(candidate, state) : 'skip';
    if (verdict === 'refuse') continue;
    if (verdict === 'kill') {
      await cancelActive(parts, db, schedule.id, now, 'replaced by the next run');
      for (const earlier of accepted) if (earlier.schedule_id === schedule.id) Object.assign(earlier, skipped(now));
      Object.assign(state, { running: 0, waiting: 0, asks: false });
    }
    const run = newRun(candidate, verdict === 'skip' && (state.asks ? 'approval' : true), now);
    accepted.push(run);
    if (verdict !== 'skip') {
      state.asks ||= run.state === 'awaiting_approval';
      state.created += 1;
      state.waiting += 1;
    }
  }
  const runs = await insertRuns(db, accepted, now.iso);
  for (const run of runs) if (run.state === 'awaiting_approval') await tellAwaitingApproval(parts.kernel, db, run, now);
  await tellRuns(parts, db, 'created', runs);
  return runs;
}

/** Tells where runs stand now: those that are new (`created`), or were moved. */
export async function tellRuns(
  { changes }: SchedulerParts,
  db: Db,
  op: 'created' | 'updated',
  runs: readonly CreatedRun[],
): Promise<void> {
  for (const own of Map.groupBy(runs, (run) => run.account_id).values()) {
    // The end of a run lets the next one of its schedule, or of its chain, go.
    const wake = own.some((run) => run.state === 'pending' || run.overlap === 'queue' || run.parent_run_id !== null);
    await changes.record(db, op, own, wake);
  }
}

/** Cancels every run of a schedule that is not over, or one of them. */
export async function cancelActive(
  parts: SchedulerParts,
  db: Db,
  scheduleId: string,
  now: Instant,
  reason: string,
  id?: string,
): Promise<void> {
  await moveLocked(parts, db, await lockActive(db, scheduleId, id), now, move('cancel', { reason }));
}

/** Cancels what waits of a schedule that was switched off; what runs goes on. */
export async function cancelWaiting(parts: SchedulerParts, db: Db, scheduleId: string, now: Instant): Promise<void> {
  const waiting = (await lockActive(db, scheduleId)).filter(({ state }) => state !== 'running');
  await moveLocked(parts, db, waiting, now, move('cancel', { reason: 'the schedule was switched off' }));
}

/** Moves runs whose locks are held to where nothing follows from it; answers those that the table let move. */
export async function moveLocked(
  parts: SchedulerParts,
  db: Db,
  runs: readonly RunRow[],
  now: Instant,
  step: Step,
): Promise<RunRow[]> {
  const moved: RunRow[] = [];
  for (const run of runs) {
    const change = step(run, now);
    if (!change) continue;
    moved.push(await changeRun(db, run, change));
    const after = moved.at(-1) as RunRow;
    await Promise.all([noteStart(db, run, after), noteAttempt(db, run, after, now)]);
    await resolveRun(parts.kernel, db, run, after);
  }
  await tellRuns(parts, db, 'updated', moved);
  return moved;
}

/**
 * Notes when a run was started that runs no more: until then its schedule's last run is read from it. A run that succeeded or
 * failed notes it with its outcome.
 */
export async function noteStart(db: Db, was: RunRow, is: RunRow): Promise<void> {
  if (was.state !== 'running' || was.started_at === null || is.state === 'running') return;
  const isNoted = is.state === 'succeeded' || is.state === 'failed' || is.state === 'timed_out';
  if (!isNoted) await touchLastRun(db, [was.schedule_id], was.started_at);
}

/** Local midnight before an instant, and its date. */
function dayOf(now: Instant, zone: string): { start: string; date: string } {
  const day = Temporal.Instant.fromEpochMilliseconds(now.ms).toZonedDateTimeISO(zone).startOfDay();
  return { start: day.toInstant().toString(), date: day.toPlainDate().toString() };
}

async function count(db: Db, candidates: readonly RunCandidate[], now: Instant): Promise<Map<string, Counts>> {
  const schedules = new Map(candidates.map(({ schedule }) => [schedule.id, schedule]));
  const counts = new Map<string, Counts>();
  for (const id of schedules.keys()) counts.set(id, { running: 0, waiting: 0, asks: false, created: 0, cost: 0 });
  for (const row of await countActive(db, [...schedules.keys()])) {
    Object.assign(counts.get(row.schedule_id) as Counts, {
      running: row.running,
      waiting: row.waiting,
      asks: row.asks,
    });
  }
  const limited = [...schedules.values()].filter(
    ({ policy }) => policy?.max_runs_per_hour !== undefined || policy?.budget_micro_usd_per_day !== undefined,
  );
  const since = limited.map((schedule) => ({
    schedule_id: schedule.id,
    hour: plus(now, -3_600_000).iso,
    day: dayOf(now, zoneOf(schedule.trigger)).start,
  }));
  for (const row of await countSince(db, since)) {
    Object.assign(counts.get(row.schedule_id) as Counts, { created: row.created, cost: row.cost_micro_usd });
  }
  return counts;
}

/** Skipped days (of what no slot chose), runs an hour, and the day's budget. */
async function isRefused(
  { kernel }: SchedulerParts,
  db: Db,
  { schedule, origin }: RunCandidate,
  counts: Counts,
  now: Instant,
): Promise<boolean> {
  const { policy } = schedule;
  if (!policy) return false;
  const zone = zoneOf(schedule.trigger);
  const skipDays = skipDaysOf(policy);
  // Slots have their skipped days out already; a catch-up stands for a slot on a day that was not skipped.
  if (skipDays && origin !== 'slot' && origin !== 'catch_up' && isSkippedDay(skipDays, now.ms, zone)) return true;
  if (policy.max_runs_per_hour !== undefined && counts.created >= policy.max_runs_per_hour) return true;
  const budget = policy.budget_micro_usd_per_day;
  if (budget === undefined || counts.cost < budget) return false;
  await tellBudgetReached(kernel, db, schedule, dayOf(now, zone).date);
  return true;
}

/** How a run is treated whose schedule has active ones. Catch-ups are never skipped: they go one after the other. */
function overlapOf(
  { schedule, origin }: RunCandidate,
  { running, waiting }: Counts,
): 'run' | 'skip' | 'kill' | 'refuse' {
  if (running + waiting === 0 || origin === 'catch_up') return 'run';
  const { overlap } = effective(schedule);
  if (overlap === 'kill') return 'kill';
  if (overlap === 'queue' && waiting === 0) return 'run';
  return origin === 'manual' ? 'refuse' : 'skip';
}

function newRun(
  { schedule, scheduledFor, origin, parent, keyId, passedOver }: RunCandidate,
  overlaps: Overlaps,
  now: Instant,
): NewRun {
  const { late_after_s: lateAfter } = effective(schedule);
  const lateAt = lateAfter === 0 || schedule.kind === 'chain' ? null : plus(now, lateAfter * 1000).iso;
  const asks = needsApproval(schedule, Date.parse(scheduledFor));
  return {
    ...copyOf(schedule),
    account_id: schedule.account_id,
    schedule_id: schedule.id,
    key_id: keyId === undefined ? schedule.key_id : keyId,
    scheduled_for: scheduledFor,
    origin,
    parent_run_id: parent?.runId ?? null,
    chain_step: parent?.step ?? null,
    ...created({ overlaps, asks, lateAt, passedOver }, now),
  };
}

/** The columns of a run that its creation decides. */
export function created(
  given: { overlaps: Overlaps; asks: boolean; lateAt: string | null; passedOver?: number | undefined },
  now: Instant,
): Pick<NewRun, 'state' | 'error' | 'late_at' | 'finished_at'> & Partial<Pick<NewRun, 'spec' | 'sealed_headers'>> {
  const { state, error = null, late_at = null, finished_at = null, spec } = columnsFor('create', given, now);
  return { state: state as NewRun['state'], error, late_at, finished_at, ...(spec && { spec, sealed_headers: null }) };
}

/** A run that is not stored yet gives way to a later one of its schedule. */
const skipped = (now: Instant) => created({ overlaps: true, asks: false, lateAt: null }, now);

/** Whether a run of this instant awaits a person first. */
export function needsApproval({ policy, trigger }: ScheduleTerms, at: number): boolean {
  if (policy?.approval === 'always') return true;
  if (policy?.approval !== 'outside_hours' || !policy.quiet_hours) return false;
  const zone = trigger.type === 'cron' ? (trigger.tz ?? defaultZone) : defaultZone;
  return !inQuietHours(policy.quiet_hours, at, zone);
}
