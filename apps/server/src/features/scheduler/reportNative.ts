import { contract } from '@svc/contract';
import type { Db } from '../../kernel/db.ts';
import { badRequest, notFound } from '../../kernel/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { effective, isSlot, lockSchedule, readNow, type ScheduleRow } from '../schedules/index.ts';
import { leaseHeld } from './heartbeat.ts';
import { viewRun } from './runs.ts';
import { copyOf, type Parts, publishRuns } from './scheduler.admit.ts';
import { settle } from './scheduler.settle.ts';
import { changeRun, insertRuns, lockSlot, type RunChange, type RunRow } from './scheduler.sql.ts';

/** Slots may be told of this long after; history is kept for as long. */
const oldestMs = 90 * 86_400_000;

/**
 * Takes the report of a slot that the operating system's scheduler ran while the platform was out of reach. The slot's
 * run, which only this machine may take, ends with it; one that was run in the meantime is not ended twice.
 */
export const reportNative = (parts: Parts): Operation =>
  operation(contract.scheduler.reportNative, async (context, { headers, body }) => {
    const deviceId = headers['x-svc-device'];
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
      if (Date.parse(scheduledFor) > now || Date.parse(scheduledFor) < now - oldestMs) {
        const message = 'must lie in the last 90 days';
        throw badRequest(`scheduled_for: ${message}`, { scheduled_for: [message] });
      }
      if (Date.parse(body.finished_at) < Date.parse(body.started_at)) {
        const message = 'lies before started_at';
        throw badRequest(`finished_at: ${message}`, { finished_at: [message] });
      }
      const run = await takeSlot(db, schedule, scheduledFor, now);
      const isWaiting = run.state === 'pending' || run.state === 'awaiting_approval';
      if (!isWaiting) throw leaseHeld(run);
      const ended: RunChange = {
        state: body.ok ? 'succeeded' : 'failed',
        holder_id: deviceId,
        started_at: new Date(body.started_at).toISOString(),
        finished_at: new Date(body.finished_at).toISOString(),
        exit_code: body.exit_code ?? null,
        error: body.error ?? null,
        log_tail: body.log_tail ?? null,
        late_at: null,
      };
      const moved = await changeRun(db, run.id, ended);
      await settle(parts, db, schedule, moved, now);
      await publishRuns(parts, db, [moved]);
      return { run: viewRun(moved) };
    });
  });

/** The run of the slot; made here when no ticker has come to it yet. */
async function takeSlot(db: Db, schedule: ScheduleRow, scheduledFor: string, now: number): Promise<RunRow> {
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
        scheduled_for: scheduledFor,
        origin: 'slot',
        state: 'pending',
        error: null,
        late_at: null,
        parent_run_id: null,
        chain_step: null,
      },
    ],
    new Date(now).toISOString(),
  );
  return (await lockSlot(db, schedule.id, scheduledFor)) as RunRow;
}
