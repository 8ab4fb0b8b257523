import type { AccountData } from '../../kernel/deletion.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { Db } from '../../kernel/db/db.ts';
import type { EventStream } from '../../kernel/http/sse.ts';
import type { ScheduleRow, Scheduler as SchedulerOfSchedules } from '../schedules/index.ts';
import { fireTrigger } from './fire.ts';
import { viewRun } from './runs.ts';
import { cancelActive, copyOf, moveLocked, needsApproval, type SchedulerParts, start } from './scheduler.admit.ts';
import { tellAwaitingApproval } from './scheduler.alerts.ts';
import { type Change, Changes } from './scheduler.changes.ts';
import { type CreatedRun, listRuns, lockActive, rewriteWaiting } from './scheduler.sql.ts';
import { move } from './scheduler.states.ts';
import { endPause, tickSchedules } from './scheduler.ticker.ts';

export { sealedRunHeaders } from './scheduler.headers.ts';

/** What the feature `schedules` asks of this one, and what fires event triggers. */
export class Scheduler implements SchedulerOfSchedules {
  readonly parts: SchedulerParts;

  constructor(kernel: Kernel) {
    this.parts = { kernel, changes: new Changes(kernel) };
  }

  /** Creates a run now; undefined when a skipped day, a limit or an overlap forbids it. The schedule is locked. */
  async runNow(db: Db, schedule: ScheduleRow, now: number): Promise<CreatedRun | undefined> {
    const candidate = { schedule, scheduledFor: new Date(now).toISOString(), origin: 'manual' as const };
    return (await start(this.parts, db, [candidate], now))[0];
  }

  /**
   * Waiting runs take what their schedule says now. When it is other work than was approved, a run that waits for a host
   * waits for a person again.
   */
  async rewriteWaiting(db: Db, schedule: ScheduleRow, isOtherWork: boolean, now: number): Promise<void> {
    await rewriteWaiting(db, schedule.id, copyOf(schedule));
    if (!isOtherWork || schedule.policy?.approval === undefined) return;
    const active = await lockActive(db, schedule.id);
    const asking = active.filter((run) => needsApproval(schedule, Date.parse(run.scheduled_for)));
    for (const run of await moveLocked(this.parts, db, asking, now, move('askAgain'))) {
      await tellAwaitingApproval(this.parts.kernel, db, run, now);
    }
  }

  /** Cancels what runs and waits of a schedule. */
  async cancelAll(db: Db, scheduleId: string, now: number): Promise<void> {
    await cancelActive(this.parts, db, scheduleId, now, 'the schedule was deleted');
  }

  /** Runs of a schedule, newest first, as they are answered. */
  async runsOf(db: Db, accountId: string, scheduleId: string, limit: number) {
    return (await listRuns(db, accountId, { limit, scheduleId })).map(viewRun);
  }

  /** Takes every slot of the account that is due; before its pause ends. */
  async tickAccount(accountId: string): Promise<void> {
    while ((await tickSchedules(this.parts, { accountId })) > 0);
  }

  /** Ends the account's pause; answers how many catch-up runs were created. */
  endPause(db: Db, accountId: string, backfill: boolean, now: number): Promise<number> {
    return endPause(this.parts, db, accountId, backfill, now);
  }

  /** Creates the runs of schedules with this event trigger; answers how many. */
  fire(db: Db, accountId: string, triggerId: string): Promise<number> {
    return fireTrigger(this.parts, db, accountId, triggerId);
  }

  /** Tells open streams of a change, and tickers to look again. */
  publish(db: Db, accountId: string, change: Change): Promise<void> {
    return this.parts.changes.publish(db, accountId, [change], true);
  }

  /** Sends the account's changes to a stream. */
  follow(accountId: string, stream: EventStream): void {
    this.parts.changes.follow(accountId, stream);
  }
}

/** What it keeps of an account. */
export const schedulerData: AccountData = { name: 'scheduler', tables: ['scheduler.runs', 'scheduler.hosts'] };
