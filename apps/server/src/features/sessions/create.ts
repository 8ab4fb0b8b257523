import { contract } from '@svc/contract';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { Sessions } from './sessions.store.ts';
import { toSession } from './sessions.view.ts';

export const create = (sessions: Sessions): Operation =>
  operation(contract.sessions.create, (context, { body }) =>
    context.transaction(async (tx) => {
      const { title = null, metadata = null } = body;
      return toSession(await sessions.open(tx, context.actor.accountId, { title, metadata }));
    }),
  );
