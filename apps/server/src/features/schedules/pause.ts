import { contract } from '@svc/contract';
import { badRequest } from '../../kernel/base/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { readNow } from '../../kernel/db/instant.ts';
import { viewPause } from './list.ts';
import { findPause, type PauseRow, upsertPause } from './schedules.account.sql.ts';
import { pauseChange } from './schedules.changes.ts';
import type { SchedulerOfSchedules } from './schedules.scheduler.ts';

/** Pauses the account's schedules; pausing again changes how the pause ends. */
export const pause = (scheduler: SchedulerOfSchedules): Operation =>
  operation(contract.schedules.pause, async (context, { body }) => {
    const { accountId } = context.actor;
    return context.transaction(async (db) => {
      const now = await readNow(db, context.clock);
      if (body.until !== undefined && Date.parse(body.until) <= now.ms) {
        throw badRequest('until: must lie in the future', { until: ['must lie in the future'] });
      }
      // One that has run out and was not ended yet is another pause: it ends first, as it was told to.
      const old = await findPause(db, accountId);
      if (old && !viewPause(old, now).paused) {
        await scheduler.endPause(db, accountId, old.resume_policy === 'backfill', now);
      }
      const row: PauseRow = {
        account_id: accountId,
        paused_at: now.iso,
        until: body.until === undefined ? null : new Date(body.until).toISOString(),
        resume_policy: body.resume_policy,
      };
      await upsertPause(db, row);
      await context.kernel.feed.record(db, [pauseChange(accountId, true)]);
      await scheduler.wake(db, accountId);
      return viewPause(row, now);
    });
  });
