import { contract } from '@svc/contract';
import { type Operation, streamOperation } from '../../kernel/feature.ts';
import type { Scheduler } from '../scheduler/index.ts';

/** Changes of the account's schedules and runs, from any gateway. */
export const stream = (scheduler: Scheduler): Operation =>
  streamOperation(contract.schedules.stream, (context, _input, start) => {
    scheduler.follow(context.actor.accountId, start());
    return Promise.resolve();
  });
