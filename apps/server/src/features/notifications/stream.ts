import { contract } from '@svc/contract';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { InboxStreams } from './notifications.inbox.ts';

export const stream = ({ broadcast }: InboxStreams): Operation =>
  operation(contract.notifications.stream, (context) => {
    broadcast.follow(context.actor.accountId, context.openEvents());
    return Promise.resolve();
  });
