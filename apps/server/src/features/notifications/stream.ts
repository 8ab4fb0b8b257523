import { contract } from '@svc/contract';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { Broadcast } from './notifications.broadcast.ts';

export const stream = (broadcast: Broadcast): Operation =>
  operation(contract.notifications.stream, (context) => {
    broadcast.add(context.actor.accountId, context.openEvents());
    return Promise.resolve();
  });
