import { contract } from '@svc/contract';
import { writeAct } from '../../kernel/records/audit.ts';
import { ApiError, badRequest, notFound } from '../../kernel/base/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { hasScope } from '../../kernel/mount/access.ts';
import { readNow } from '../../kernel/db/instant.ts';
import { serveAs } from '../devices/index.ts';
import { upsertApproval } from './schedules.account.sql.ts';
import { scheduleChange } from './schedules.changes.ts';
import type { SchedulerOfSchedules } from './schedules.scheduler.ts';
import { lockSchedule } from './schedules.sql.ts';

/** Approves the schedule's command, named by its hash, for the calling device. */
export const approveCommand = (scheduler: SchedulerOfSchedules): Operation =>
  operation(contract.schedules.approveCommand, async (context, { params, headers, body }) => {
    const { actor, by } = context;
    const { accountId } = actor;
    const deviceId = headers['x-svc-device'];
    if (!hasScope(actor.scopes, ['schedules'])) await serveAs(context.db, { actor, deviceId });
    await context.transaction(async (db) => {
      const schedule = await lockSchedule(db, params.id);
      if (schedule?.account_id !== accountId) throw notFound('schedule');
      if (schedule.command_hash === null) throw badRequest('only shell schedules have a command to approve');
      if (schedule.command_hash !== body.command_hash) {
        throw new ApiError('hash_mismatch', 'the command was changed; look at it again and approve its new hash', {
          details: { command_hash: schedule.command_hash },
        });
      }
      const approvedAt = (await readNow(db, context.clock)).iso;
      const approval = { device_id: deviceId, command_hash: body.command_hash, approved_at: approvedAt };
      await upsertApproval(db, { schedule_id: schedule.id, ...approval });
      await scheduler.askAgain(db, schedule, deviceId);
      const details = { device_id: deviceId, command_hash: body.command_hash };
      const act = { action: 'schedules.approveCommand', subject: schedule.id, details };
      await writeAct(db, { accountId, by, ...act });
      await context.kernel.feed.record(db, [scheduleChange('updated', schedule)]);
      await scheduler.wake(db, accountId);
    });
    return { approved: true, device_id: deviceId };
  });
