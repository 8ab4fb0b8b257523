import { contract } from '@svc/contract';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { Sessions } from './sessions.store.ts';
import { updateSession } from './sessions.sql.ts';
import { sessionChange, toSession } from './sessions.view.ts';

export const update = (sessions: Sessions): Operation =>
  operation(contract.sessions.update, (context, { params, body }) =>
    context.transaction(async (tx) => {
      const { title, metadata } = await sessions.lock(tx, context.actor.accountId, params.id);
      const terms = {
        title: body.title === undefined ? title : body.title,
        metadata: body.metadata === undefined ? metadata : body.metadata,
      };
      const row = await updateSession(tx, context.clock, params.id, terms);
      await context.kernel.feed.record(tx, [sessionChange('updated', row)]);
      return toSession(row);
    }),
  );
