import { contract } from '@svc/contract';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { SchedulerOfSchedules } from './schedules.scheduler.ts';

/** Changes of the account's schedules and runs, from any gateway. */
export const stream = (scheduler: SchedulerOfSchedules): Operation =>
  operation(contract.schedules.stream, (context) => {
    scheduler.follow(context.actor.accountId, context.openEvents());
    return Promise.resolve();
  });
