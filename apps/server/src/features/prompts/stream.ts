import { contract } from '@svc/contract';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { Prompts } from './prompts.store.ts';

/** Changes of the account's prompts, from any gateway. */
export const stream = ({ streams }: Prompts): Operation =>
  operation(contract.prompts.stream, (context) => {
    streams.broadcast.follow(context.actor.accountId, context.openEvents());
    return Promise.resolve();
  });
