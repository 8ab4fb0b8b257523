import { contract } from '@svc/contract';
import { type Operation, streamOperation } from '../../kernel/feature.ts';
import type { Broadcast } from './notifications.broadcast.ts';

export const stream = (broadcast: Broadcast): Operation =>
  streamOperation(contract.notifications.stream, (context, _input, start) => {
    broadcast.add(context.actor.accountId, start());
    return Promise.resolve();
  });
