import type { run } from '@svc/contract';
import type { z } from 'zod';
import type { Db } from '../../kernel/db/db.ts';
import type { Instant } from '../../kernel/db/instant.ts';
import type { ScheduleRow } from './schedules.sql.ts';

/** The interface that the feature which runs schedules implements. Each method takes the caller's transaction. */
export interface SchedulerOfSchedules {
  /** Creates a run now that acts for a key; undefined when a skipped day, a limit or an overlap forbids it. The schedule is locked. */
  runNow(db: Db, schedule: ScheduleRow, now: Instant, keyId: string): Promise<{ id: string } | undefined>;
  /**
   * Waiting runs take what their schedule says now. When it is other work than was approved, a run that waits for a host
   * waits for a person again.
   */
  rewriteWaiting(db: Db, schedule: ScheduleRow, isOtherWork: boolean, now: Instant): Promise<void>;
  /** Offers a machine once more what it handed back, as a person has approved this schedule's command on it. */
  askAgain(db: Db, schedule: ScheduleRow, deviceId: string): Promise<void>;
  /** Resolves what was told of a schedule that is switched on again. */
  noteSwitchedOn(db: Db, schedule: ScheduleRow): Promise<void>;
  /** Cancels what waits of a schedule that was switched off. */
  cancelWaiting(db: Db, scheduleId: string, now: Instant): Promise<void>;
  /** Cancels what runs and waits of a schedule that is being deleted. */
  cancelAll(db: Db, schedule: ScheduleRow, now: Instant): Promise<void>;
  /** A page of the runs of a schedule, newest first, as they are answered. */
  runsOf(
    accountId: string,
    scheduleId: string,
    page: { limit: number; cursor?: string | undefined },
  ): Promise<{ runs: z.input<typeof run>[]; next_cursor?: string }>;
  /** Takes every slot of the account that is due; before its pause ends. */
  tickAccount(accountId: string): Promise<void>;
  /** Ends the account's pause; answers how many catch-up runs were created. */
  endPause(db: Db, accountId: string, backfill: boolean, now: Instant): Promise<number>;
  /** Has tickers and claims look again, once `db` is committed. */
  wake(db: Db, accountId: string): Promise<void>;
}
