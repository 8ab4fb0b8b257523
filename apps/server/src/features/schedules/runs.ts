import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { SchedulerOfSchedules } from './schedules.scheduler.ts';
import { findSchedule } from './schedules.sql.ts';

export const runs = (scheduler: SchedulerOfSchedules): Operation =>
  operation(contract.schedules.runs, async (context, { params, query }) => {
    const { accountId } = context.actor;
    if (!(await findSchedule(context.db, accountId, params.id))) throw notFound('schedule');
    return scheduler.runsOf(accountId, params.id, query);
  });
