import { createHash } from 'node:crypto';
import { ignoring } from '@svc/matching/ignored';
import { changedLines, hashText, isSameWay, normalizeOutput } from '@svc/matching/output';
import type { Db } from '../../../kernel/db/db.ts';
import { type Instant, readNow } from '../../../kernel/db/instant.ts';
import {
  effective,
  lockFollowers,
  lockSchedule,
  recordOutcome,
  scheduleChange,
  type ScheduleRow,
} from '../../schedules/index.ts';
import { noteAttempt } from '../attempts/attempts.ts';
import { admit, cancelWaiting, copyOf, noteStart, type SchedulerParts, tellRuns } from '../scheduler.admit.ts';
import {
  resolveRun,
  resolveSchedule,
  tellChanged,
  tellDisabled,
  tellFailed,
  tellRecovered,
  tellSucceeded,
} from './alerts.ts';
import { confirmEnd, type EndedAttempt } from '../claims/claims.sql.ts';
import { lastLogOf, listSteps } from '../scheduler.runs.sql.ts';
import { changeRun, lockRun, rewriteWaiting, type RunRow } from '../scheduler.sql.ts';
import { type Step } from '../scheduler.moves.ts';
import { runStates } from '../scheduler.states.ts';

/**
 * Moves a run under its locks, now. What a final state leads to happens in the same transaction. Answers undefined when the
 * table does not allow the move to the run as it is then.
 */
export async function moveRun(
  parts: SchedulerParts,
  db: Db,
  ids: { id: string; schedule_id: string },
  step: Step,
  outputHash?: string,
): Promise<RunRow | undefined> {
  // Asked in one go: one way to the database and back. It locks in this order, the schedule first.
  const [now, schedule, run] = await Promise.all([
    readNow(db, parts.kernel.clock),
    lockSchedule(db, ids.schedule_id),
    lockRun(db, ids.id),
  ]);
  return run && moveOn(parts, db, schedule, run, now, step, outputHash);
}

/** The same for a run and its schedule whose locks are held. */
export async function moveOn(
  parts: SchedulerParts,
  db: Db,
  schedule: ScheduleRow | undefined,
  run: RunRow,
  now: Instant,
  step: Step,
  outputHash?: string,
): Promise<RunRow | undefined> {
  const change = step(run, now);
  if (!change) return undefined;
  let moved = await changeRun(db, run, change);
  if (moved.state === 'pending' && schedule && run.state === 'running') {
    // The next attempt is what the schedule says now; waiting runs are rewritten by the edit itself.
    await rewriteWaiting(db, schedule, copyOf(schedule), now.iso);
    moved = (await lockRun(db, run.id)) as RunRow;
  }
  await Promise.all([noteStart(db, run, moved), noteAttempt(db, run, moved, now)]);
  await resolveRun(parts.kernel, db, run, moved);
  if (runStates.isFinal(moved.state) && schedule) await settle(parts, db, schedule, moved, now, outputHash);
  await tellRuns(parts, db, 'updated', [moved]);
  return moved;
}

/** Takes a holder's word that the process of an ended attempt is gone: what waited for it may be claimed. */
export async function endedProcess(parts: SchedulerParts, ended: EndedAttempt): Promise<RunRow | undefined> {
  const { sql } = parts.kernel;
  const run = await confirmEnd(sql, ended);
  if (run) await parts.changes.wake(sql, run.account_id);
  return run;
}

/** Does what follows the end of a run: alerts, the count of failures, schedules that run after it. */
async function settle(
  parts: SchedulerParts,
  db: Db,
  schedule: ScheduleRow,
  run: RunRow,
  now: Instant,
  outputHash?: string,
): Promise<void> {
  if (run.state === 'cancelled' || run.state === 'skipped') return;
  const outcome = run.state === 'succeeded' ? successOf(schedule, run, now, outputHash) : failureAfter(schedule);
  // One way to the database and back for both.
  const [followers] = await Promise.all([
    lockFollowers(db, run.account_id, run.schedule_id, now),
    recordOutcome(db, schedule.id, { ...outcome, now: now.iso, startedAt: run.started_at }),
  ]);
  if (run.state === 'succeeded')
    await settleSuccess(parts, db, schedule, run, now, { hash: outcome.outputHash, isWhole: outputHash === undefined });
  else await settleFailure(parts, db, schedule, run, now, outcome);
  await startFollowers(parts, db, followers, run, now);
}

/** How its last run went, as a schedule keeps it. */
interface LastOutcome {
  failures: number;
  disable: boolean;
  /** Of a success; null keeps the one before. */
  outputHash: string | null;
}

function successOf(schedule: ScheduleRow, run: RunRow, now: Instant, outputHash?: string): LastOutcome {
  // To normalise 64 KiB takes 18 ms: only where somebody wants to hear of a change.
  const isCompared = outputHash === undefined && effective(schedule).notify === 'on_change';
  if (!isCompared) return { failures: 0, disable: false, outputHash: outputHash ?? null };
  const ignored = ignoring(schedule.ignore);
  const normal = normalizeOutput(run.log_tail ?? '', now.ms, ignored);
  const own = hashText(createHash('sha256').update(normal).digest('hex'), ignored);
  return { failures: 0, disable: false, outputHash: own };
}

function failureAfter(schedule: ScheduleRow): LastOutcome {
  const failures = schedule.failures + 1;
  const limit = schedule.policy?.pause_after_failures ?? 3;
  return { failures, disable: schedule.enabled && limit > 0 && failures >= limit, outputHash: null };
}

/** Its beginning is missing: what is kept of a log is its end. */
const isLong = (text: string): boolean => text.length >= 65_536;

async function settleSuccess(
  { kernel }: SchedulerParts,
  db: Db,
  schedule: ScheduleRow,
  run: RunRow,
  now: Instant,
  { hash, isWhole }: { hash: string | null; isWhole: boolean },
): Promise<void> {
  const { last_output_hash: last } = schedule;
  const changed = last !== null && hash !== null && last !== hash;
  const { notify } = effective(schedule);
  const recovered = schedule.failures > 0;
  if (recovered) await resolveSchedule(kernel, db, run, 'recovered');
  if (notify === 'always') await tellSucceeded(kernel, db, run);
  else if (notify === 'on_change' && recovered && schedule.alert_on_fail !== false)
    await tellRecovered(kernel, db, run);
  else if (notify === 'on_change' && changed) {
    const [before, after] = [await lastLogOf(db, run), run.log_tail ?? ''];
    const ignored = ignoring(schedule.ignore);
    // A date that was to come when the hash before was made may be over by now, in the very same output. And after an
    // upgrade, or another `ignore`, the outputs say what their hashes do not: of long ones nobody knows.
    const isSame =
      isWhole && before !== undefined && !isLong(before)
        ? normalizeOutput(before, now.ms, ignored) === normalizeOutput(after, now.ms, ignored)
        : !isSameWay(last, hash);
    if (!isSame) await tellChanged(kernel, db, run, changedLines(before ?? '', after, now.ms, ignored));
  }
}

async function settleFailure(
  parts: SchedulerParts,
  db: Db,
  schedule: ScheduleRow,
  run: RunRow,
  now: Instant,
  { failures, disable }: LastOutcome,
): Promise<void> {
  const { kernel } = parts;
  if (asksToHearOfFailure(schedule)) await tellFailed(kernel, db, run, await failureOf(db, run));
  if (!disable) return;
  await cancelWaiting(parts, db, schedule.id, now);
  await tellDisabled(kernel, db, { ...schedule, failures }, run);
  await kernel.feed.record(db, [scheduleChange('updated', { ...schedule, enabled: false })]);
}

/** `alert_on_fail` wins over `notify`; for `on_change` the first failure in a row is a change. */
function asksToHearOfFailure(schedule: ScheduleRow): boolean {
  if (schedule.alert_on_fail !== null) return schedule.alert_on_fail;
  const { notify } = effective(schedule);
  return notify === 'on_failure' || notify === 'always' || (notify === 'on_change' && schedule.failures === 0);
}

/** The run to which a failure is put down: of a chain its first failed step, so that people hear of it once. */
async function failureOf(db: Db, run: RunRow): Promise<string> {
  if (run.kind !== 'chain' || run.started_at === null) return run.id;
  const steps = await listSteps(db, run.id, run.started_at);
  return steps.find(({ state }) => state === 'failed' || state === 'timed_out')?.id ?? run.id;
}

/** Creates the runs of schedules that wait for this one. A pause of the account stops them, as it does all others. */
async function startFollowers(
  parts: SchedulerParts,
  db: Db,
  waiting: readonly ScheduleRow[],
  run: RunRow,
  now: Instant,
): Promise<void> {
  const outcome = run.state === 'succeeded' ? 'success' : 'failure';
  const followers = waiting.filter(
    ({ trigger }) => trigger.type === 'after' && (trigger.on === 'always' || trigger.on === outcome),
  );
  const scheduledFor = now.iso;
  const candidates = followers.map((schedule) => ({ schedule, scheduledFor, origin: 'after' as const }));
  if (candidates.length > 0) await admit(parts, db, candidates, now);
}
