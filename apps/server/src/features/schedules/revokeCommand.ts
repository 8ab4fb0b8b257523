import { contract } from '@svc/contract';
import { writeAct } from '../../kernel/records/audit.ts';
import { hasScope } from '../../kernel/mount/access.ts';
import { notFound } from '../../kernel/base/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { serveAs } from '../devices/index.ts';
import { deleteApprovals } from './schedules.account.sql.ts';
import { scheduleChange } from './schedules.changes.ts';
import type { SchedulerOfSchedules } from './schedules.scheduler.ts';
import { lockSchedule } from './schedules.sql.ts';

/** Withdraws the calling device's approval; what runs already goes on. */
export const revokeCommand = (scheduler: SchedulerOfSchedules): Operation =>
  operation(contract.schedules.revokeCommand, async (context, { params, headers }) => {
    const { actor, by } = context;
    const { accountId } = actor;
    const deviceId = headers['x-svc-device'];
    if (!hasScope(actor.scopes, ['schedules'])) await serveAs(context.db, { actor, deviceId });
    await context.transaction(async (db) => {
      const schedule = await lockSchedule(db, params.id);
      if (schedule?.account_id !== accountId) throw notFound('schedule');
      await deleteApprovals(db, schedule.id, deviceId);
      const act = { action: 'schedules.revokeCommand', subject: schedule.id, details: { device_id: deviceId } };
      await writeAct(db, { accountId, by, ...act });
      await context.kernel.feed.record(db, [scheduleChange('updated', schedule)]);
      await scheduler.wake(db, accountId);
    });
    return { approved: false, device_id: deviceId };
  });
