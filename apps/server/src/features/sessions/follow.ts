import { contract } from '@svc/contract';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { Sessions } from './sessions.store.ts';

/** Events of a session, from any gateway. */
export const follow = (sessions: Sessions): Operation =>
  operation(contract.sessions.follow, async (context, { params, query }) => {
    const session = await sessions.get(context.db, context.actor.accountId, params.id);
    await sessions.streams.follow(session, query.after, context.openEvents());
  });
