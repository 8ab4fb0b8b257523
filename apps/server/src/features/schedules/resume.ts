import { contract } from '@svc/contract';
import { type Operation, operation } from '../../kernel/feature.ts';
import { readNow } from '../../kernel/db/instant.ts';
import { findPause } from './schedules.account.sql.ts';
import type { SchedulerOfSchedules } from './schedules.scheduler.ts';

/** Ends the pause. Without one, nothing happens. */
export const resume = (scheduler: SchedulerOfSchedules): Operation =>
  operation(contract.schedules.resume, async (context, { body }) => {
    const { accountId } = context.actor;
    // Slots up to this instant belong to the pause, whether or not a ticker has come to them.
    await scheduler.tickAccount(accountId);
    const backfilled = await context.transaction(async (db) => {
      const pause = await findPause(db, accountId);
      if (!pause) return 0;
      const backfill = body.backfill ?? pause.resume_policy === 'backfill';
      return scheduler.endPause(db, accountId, backfill, await readNow(db, context.clock));
    });
    return { paused: false, backfilled };
  });
