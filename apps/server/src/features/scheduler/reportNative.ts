import { contract } from '@svc/contract';
import type { Db } from '../../kernel/db/db.ts';
import { badRequest, notFound } from '../../kernel/base/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { type Instant, readNow } from '../../kernel/db/instant.ts';
import { serveAs } from '../devices/index.ts';
import { effective, isSlot, lockSchedule, type ScheduleRow, touchLastRun } from '../schedules/index.ts';
import { leaseHeld } from './heartbeat.ts';
import { viewRun } from './runs.ts';
import { copyOf, created, type SchedulerParts } from './scheduler.admit.ts';
import { moveOn } from './outcomes/settle.ts';
import { insertRuns, lockSlot, type RunRow } from './scheduler.sql.ts';
import { move } from './scheduler.moves.ts';

/** Slots may be told of this long after; history is kept for as long. */
const oldestMs = 90 * 86_400_000;

/**
 * Takes the report of a slot that the operating system's scheduler ran while the platform was out of reach. The slot's
 * run, which only this machine may take, ends with it; one that was run in the meantime is not ended twice.
 */
export const reportNative = (parts: SchedulerParts): Operation =>
  operation(contract.scheduler.reportNative, async (context, { headers, body }) => {
    const deviceId = headers['x-svc-device'];
    await serveAs(context.db, { actor: context.actor, deviceId });
    return context.transaction(async (db) => {
      const now = await readNow(db, context.clock);
      const schedule = await lockSchedule(db, body.schedule_id);
      if (schedule?.account_id !== context.actor.accountId) throw notFound('schedule');
      const { target } = effective(schedule);
      if (schedule.native !== true || target.type !== 'host' || target.device_id !== deviceId) {
        throw badRequest('schedule_id: the schedule is not native to this device', {
          schedule_id: ['the schedule is not native to this device'],
        });
      }
      const scheduledFor = new Date(body.scheduled_for).toISOString();
      if (Date.parse(scheduledFor) > now.ms || Date.parse(scheduledFor) < now.ms - oldestMs) {
        const message = 'must lie in the last 90 days';
        throw badRequest(`scheduled_for: ${message}`, { scheduled_for: [message] });
      }
      if (Date.parse(body.finished_at) < Date.parse(body.started_at)) {
        const message = 'lies before started_at';
        throw badRequest(`finished_at: ${message}`, { finished_at: [message] });
      }
      const run = await takeSlot(db, schedule, scheduledFor, now);
      const ended = {
        deviceId,
        ok: body.ok,
        startedAt: new Date(body.started_at).toISOString(),
        finishedAt: new Date(body.finished_at).toISOString(),
        exitCode: body.exit_code,
        endedProcesses: body.ended_processes,
        error: body.error,
        logTail: body.log_tail,
      };
      const moved = await moveOn(parts, db, schedule, run, now, move('reportNative', ended));
      // A repeat whose answer was lost: the run ended by this very report.
      if (!moved && endedBy(run, ended)) return { run: viewRun(run) };
      if (!moved) throw leaseHeld(run);
      await touchLastRun(db, [schedule.id], ended.startedAt);
      return { run: viewRun(moved) };
    });
  });

/** Whether a run ended by this report of this machine. */
const endedBy = (
  run: RunRow,
  report: { deviceId: string; ok: boolean; startedAt: string; finishedAt: string },
): boolean =>
  run.holder_id === report.deviceId &&
  run.state === (report.ok ? 'succeeded' : 'failed') &&
  run.started_at === report.startedAt &&
  run.finished_at === report.finishedAt;

/** The run of the slot; made here when no ticker has come to it yet. */
async function takeSlot(db: Db, schedule: ScheduleRow, scheduledFor: string, now: Instant): Promise<RunRow> {
  const known = await lockSlot(db, schedule.id, scheduledFor);
  if (known) return known;
  if (!isSlot(schedule, Date.parse(scheduledFor))) {
    const message = 'is no slot of the schedule';
    throw badRequest(`scheduled_for: ${message}`, { scheduled_for: [message] });
  }
  await insertRuns(
    db,
    [
      {
        ...copyOf(schedule),
        account_id: schedule.account_id,
        schedule_id: schedule.id,
        key_id: schedule.key_id,
        scheduled_for: scheduledFor,
        origin: 'slot',
        parent_run_id: null,
        chain_step: null,
        ...created({ overlaps: false, asks: false, lateAt: null }, now),
      },
    ],
    now.iso,
  );
  return (await lockSlot(db, schedule.id, scheduledFor)) as RunRow;
}
