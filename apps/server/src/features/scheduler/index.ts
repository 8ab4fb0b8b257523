import type { Db } from '../../kernel/db/db.ts';
import type { Instant } from '../../kernel/db/instant.ts';
import type { Manifest } from '../../kernel/feature.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { type ScheduleRow, type SchedulerOfSchedules, withdrawApprovals } from '../schedules/index.ts';
import { changeMachine, type MachineTerms } from './claims/change.ts';
import { askAgain, deleteHost, forgetRefusals } from './claims/hosts.sql.ts';
import { fireTrigger } from './fire.ts';
import { hasStoredLogs, runLogBytesQuota } from './logs/logs.sql.ts';
import { deleteLogBlobs } from './logs/store.ts';
import { resolveHost, resolveSchedule, tellAwaitingApproval } from './outcomes/alerts.ts';
import { schedulerRestored } from './outcomes/restored.ts';
import { pageOfRuns } from './runs.ts';
import {
  admit,
  cancelActive,
  cancelWaiting,
  copyOf,
  moveLocked,
  needsApproval,
  type SchedulerParts,
} from './scheduler.admit.ts';
import { Changes } from './scheduler.changes.ts';
import { move, runs } from './scheduler.moves.ts';
import { type CreatedRun, lockActive, rewriteWaiting } from './scheduler.sql.ts';
import { endPause, tickSchedules } from './tickers/ticker.ts';
import { dropUnusedSpecs } from './work/specs.sql.ts';

export { sealedRunHeaders } from './work/headers.ts';

/** The operations that the feature `schedules` needs of this one, and the firing of event triggers. */
export class Scheduler implements SchedulerOfSchedules {
  readonly parts: SchedulerParts;

  constructor(kernel: Kernel) {
    this.parts = { kernel, changes: new Changes(kernel) };
  }

  /** Creates a run now that acts for a key; undefined when a skipped day, a limit or an overlap forbids it. The schedule is locked. */
  async runNow(db: Db, schedule: ScheduleRow, now: Instant, keyId: string): Promise<CreatedRun | undefined> {
    const candidate = { schedule, scheduledFor: now.iso, origin: 'manual' as const, keyId };
    return (await admit(this.parts, db, [candidate], now))[0];
  }

  /**
   * Waiting runs take what their schedule says now. When it is other work than was approved, a run that waits for a host
   * waits for a person again.
   */
  async rewriteWaiting(db: Db, schedule: ScheduleRow, isOtherWork: boolean, now: Instant): Promise<void> {
    await rewriteWaiting(db, schedule, copyOf(schedule), now.iso);
    if (isOtherWork) await forgetRefusals(db, schedule.id);
    if (!isOtherWork || schedule.policy?.approval === undefined) return;
    const active = await lockActive(db, schedule.id);
    const asking = active.filter((run) => needsApproval(schedule, Date.parse(run.scheduled_for)));
    for (const run of await moveLocked(this.parts, db, asking, now, move('askAgain'))) {
      await tellAwaitingApproval(this.parts.kernel, db, run, now);
    }
  }

  /** Offers a machine once more what it handed back, as a person has approved something on it. */
  async askAgain(db: Db, schedule: ScheduleRow, deviceId: string): Promise<void> {
    await askAgain(db, schedule.account_id, deviceId);
    await resolveHost(this.parts.kernel, db, { ...schedule, schedule_id: schedule.id }, deviceId);
  }

  /** Resolves what was told of a schedule that is switched on again. */
  noteSwitchedOn(db: Db, schedule: ScheduleRow): Promise<void> {
    return resolveSchedule(this.parts.kernel, db, { ...schedule, schedule_id: schedule.id }, 'resumed');
  }

  /** Cancels what waits of a schedule that was switched off. */
  cancelWaiting(db: Db, scheduleId: string, now: Instant): Promise<void> {
    return cancelWaiting(this.parts, db, scheduleId, now);
  }

  /** Cancels what runs and waits of a schedule that is being deleted. */
  async cancelAll(db: Db, schedule: ScheduleRow, now: Instant): Promise<void> {
    await cancelActive(this.parts, db, schedule.id, now, 'the schedule was deleted');
    await dropUnusedSpecs(db, schedule.id);
    await resolveSchedule(this.parts.kernel, db, { ...schedule, schedule_id: schedule.id }, 'removed');
  }

  /** A page of the runs of a schedule, newest first, as they are answered. */
  runsOf(accountId: string, scheduleId: string, page: { limit: number; cursor?: string | undefined }) {
    return pageOfRuns(this.parts.kernel, accountId, { limit: page.limit, before: page.cursor, scheduleId });
  }

  /** Takes every slot of the account that is due; before its pause ends. */
  async tickAccount(accountId: string): Promise<void> {
    while ((await tickSchedules(this.parts, { accountId })) > 0);
  }

  /** Ends the account's pause; answers how many catch-up runs were created. */
  endPause(db: Db, accountId: string, backfill: boolean, now: Instant): Promise<number> {
    return endPause(this.parts, db, accountId, backfill, now);
  }

  /** Creates the runs of schedules with this event trigger; answers how many. */
  fire(db: Db, accountId: string, triggerId: string): Promise<number> {
    return fireTrigger(this.parts, db, accountId, triggerId);
  }

  /** Forgets a machine and the commands approved for it; what it runs ends or loses its lease as ever. */
  async forgetDevice(db: Db, { accountId, deviceId }: { accountId: string; deviceId: string }): Promise<void> {
    await deleteHost(db, accountId, { deviceId });
    await withdrawApprovals(db, accountId, deviceId);
  }

  /** Changes what a person says of a machine; false when it has never claimed. Throws 400 for a change of nothing. */
  async changeMachine(db: Db, accountId: string, which: { deviceId: string }, change: MachineTerms): Promise<boolean> {
    return (await changeMachine(this.parts, db, accountId, which, change)) !== undefined;
  }

  /** Has tickers and claims look again, once `db` is committed. */
  wake(db: Db, accountId: string): Promise<void> {
    return this.parts.changes.wake(db, accountId);
  }
}

/** The feature without a running platform. */
export const schedulerManifest: Manifest = {
  name: 'scheduler',
  hasBlobs: hasStoredLogs,
  data: {
    tables: ['scheduler.runs', 'scheduler.specs', 'scheduler.logs', 'scheduler.hosts'],
    async end(parts, { accountId }) {
      return { deleted: { 'blobs of logs': await deleteLogBlobs(parts, accountId) } };
    },
  },
  machines: [runs],
  restored: schedulerRestored,
  quotas: [runLogBytesQuota],
};
