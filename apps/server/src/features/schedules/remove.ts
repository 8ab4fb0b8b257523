import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { readNow } from '../../kernel/db/instant.ts';
import { scheduleChange } from './schedules.changes.ts';
import type { SchedulerOfSchedules } from './schedules.scheduler.ts';
import { deleteSchedule, findSchedule, lockSchedule } from './schedules.sql.ts';

/** Deletes a schedule; its history stays, what runs is cancelled. */
export const remove = (scheduler: SchedulerOfSchedules): Operation =>
  operation(contract.schedules.remove, async (context, { params }) => {
    const { accountId } = context.actor;
    await context.transaction(async (db) => {
      if (!(await findSchedule(db, accountId, params.id))) throw notFound('schedule');
      const schedule = await lockSchedule(db, params.id);
      if (!schedule) throw notFound('schedule');
      await scheduler.cancelAll(db, schedule, await readNow(db, context.clock));
      await deleteSchedule(db, params.id);
      await context.kernel.feed.record(db, [scheduleChange('deleted', schedule)]);
      await scheduler.wake(db, accountId);
    });
    return undefined;
  });
