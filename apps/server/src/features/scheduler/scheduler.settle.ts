import { createHash } from 'node:crypto';
import type { Db } from '../../kernel/db/db.ts';
import { effective, lockFollowers, lockSchedule, recordOutcome, type ScheduleRow } from '../schedules/index.ts';
import { copyOf, type SchedulerParts, publishRuns, start } from './scheduler.admit.ts';
import { tellDisabled, tellFailed, tellSucceeded } from './scheduler.alerts.ts';
import { normalizeOutput } from './scheduler.rules.ts';
import { changeRun, lockRun, rewriteWaiting, type RunRow } from './scheduler.sql.ts';
import { isFinal, type Step } from './scheduler.states.ts';

/**
 * Moves a run under its locks, schedule first. What a final state leads to happens in the same transaction. Answers
 * undefined when the table does not allow the move to the run as it is then.
 */
export async function moveRun(
  parts: SchedulerParts,
  db: Db,
  ids: { id: string; schedule_id: string },
  now: number,
  step: Step,
  outputHash?: string,
): Promise<RunRow | undefined> {
  const schedule = await lockSchedule(db, ids.schedule_id);
  const run = await lockRun(db, ids.id);
  return run && moveOn(parts, db, schedule, run, now, step, outputHash);
}

/** The same for a run and its schedule whose locks are held. */
export async function moveOn(
  parts: SchedulerParts,
  db: Db,
  schedule: ScheduleRow | undefined,
  run: RunRow,
  now: number,
  step: Step,
  outputHash?: string,
): Promise<RunRow | undefined> {
  const change = step(run, now);
  if (!change) return undefined;
  let moved = await changeRun(db, run.id, change);
  if (moved.state === 'pending' && schedule && run.state === 'running') {
    // The next attempt is what the schedule says now; waiting runs are rewritten by the edit itself.
    await rewriteWaiting(db, schedule.id, copyOf(schedule));
    moved = (await lockRun(db, run.id)) as RunRow;
  }
  if (isFinal(moved.state) && schedule) await settle(parts, db, schedule, moved, now, outputHash);
  await publishRuns(parts, db, [moved]);
  return moved;
}

/** What the end of a run leads to: alerts, the count of failures, schedules that run after it. */
async function settle(
  parts: SchedulerParts,
  db: Db,
  schedule: ScheduleRow,
  run: RunRow,
  now: number,
  outputHash?: string,
): Promise<void> {
  if (run.state === 'succeeded') await settleSuccess(parts, db, schedule, run, now, outputHash);
  if (run.state === 'failed' || run.state === 'timed_out') await settleFailure(parts, db, schedule, run, now);
  if (run.state !== 'cancelled' && run.state !== 'skipped') await startFollowers(parts, db, run, now);
}

async function settleSuccess(
  { kernel }: SchedulerParts,
  db: Db,
  schedule: ScheduleRow,
  run: RunRow,
  now: number,
  outputHash?: string,
): Promise<void> {
  const hash =
    outputHash ??
    createHash('sha256')
      .update(normalizeOutput(run.log_tail ?? ''))
      .digest('hex');
  const changed = schedule.last_output_hash !== null && schedule.last_output_hash !== hash;
  await recordOutcome(db, schedule.id, {
    failures: 0,
    disable: false,
    outputHash: hash,
    now: new Date(now).toISOString(),
  });
  const { notify } = effective(schedule);
  if (notify === 'always' || (notify === 'on_change' && changed)) {
    await tellSucceeded(kernel, db, run, notify === 'on_change');
  }
}

async function settleFailure(
  { kernel, changes }: SchedulerParts,
  db: Db,
  schedule: ScheduleRow,
  run: RunRow,
  now: number,
): Promise<void> {
  const failures = schedule.failures + 1;
  const limit = schedule.policy?.pause_after_failures ?? 3;
  const disable = schedule.enabled && limit > 0 && failures >= limit;
  await recordOutcome(db, schedule.id, { failures, disable, outputHash: null, now: new Date(now).toISOString() });
  const { notify } = effective(schedule);
  if (schedule.alert_on_fail === true || notify === 'on_failure' || notify === 'always') {
    await tellFailed(kernel, db, run);
  }
  if (!disable) return;
  await tellDisabled(kernel, db, { ...schedule, failures }, run);
  const change = { op: 'updated', state: 'disabled', schedule_id: schedule.id } as const;
  await changes.publish(db, schedule.account_id, [change], false);
}

/** Creates the runs of schedules that wait for this one. A pause of the account stops them, as it does all others. */
async function startFollowers(parts: SchedulerParts, db: Db, run: RunRow, now: number): Promise<void> {
  const outcome = run.state === 'succeeded' ? 'success' : 'failure';
  const followers = (await lockFollowers(db, run.account_id, run.schedule_id, now)).filter(
    ({ trigger }) => trigger.type === 'after' && (trigger.on === 'always' || trigger.on === outcome),
  );
  const scheduledFor = new Date(now).toISOString();
  const candidates = followers.map((schedule) => ({ schedule, scheduledFor, origin: 'after' as const }));
  if (candidates.length > 0) await start(parts, db, candidates, now);
}
