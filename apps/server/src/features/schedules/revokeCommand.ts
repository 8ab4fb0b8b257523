import { contract } from '@svc/contract';
import { notFound } from '../../kernel/http/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { deleteApprovals } from './schedules.account.sql.ts';
import type { Scheduler } from './schedules.scheduler.ts';
import { lockSchedule } from './schedules.sql.ts';

/** Withdraws the calling device's approval; what runs already goes on. */
export const revokeCommand = (scheduler: Scheduler): Operation =>
  operation(contract.schedules.revokeCommand, async (context, { params, headers }) => {
    const { accountId } = context.actor;
    const deviceId = headers['x-svc-device'];
    await context.transaction(async (db) => {
      const schedule = await lockSchedule(db, params.id);
      if (schedule?.account_id !== accountId) throw notFound('schedule');
      await deleteApprovals(db, schedule.id, deviceId);
      const state = schedule.enabled ? 'enabled' : 'disabled';
      await scheduler.publish(db, accountId, { op: 'updated', state, schedule_id: schedule.id });
    });
    return { approved: false, device_id: deviceId };
  });
