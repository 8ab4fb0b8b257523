import { contract } from '@svc/contract';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { Topics } from './events.topics.ts';

/** Changes of the account, from any gateway. */
export const stream = (known: Topics): Operation =>
  operation(contract.events.stream, async (context, { query }) => {
    const { actor, clock } = context;
    const topics = known.allowed(actor, query.topics);
    await context.follow(known.view(topics), query, { topics, at: new Date(clock.now()).toISOString() });
  });
