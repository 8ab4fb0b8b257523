import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { Sessions } from './sessions.store.ts';
import type { SessionListener } from './sessions.turns.ts';
import { deleteSession } from './sessions.sql.ts';

/** Deletes a session; streams that follow it end. */
export const remove = ({ streams }: Sessions, listener: SessionListener): Operation =>
  operation(contract.sessions.remove, (context, { params }) =>
    context.transaction(async (tx) => {
      if (!(await deleteSession(tx, context.actor.accountId, params.id))) throw notFound('session');
      await listener.gone(tx, params.id);
      await streams.publish(tx, { sessionId: params.id, gone: true });
      return { deleted: true as const, id: params.id };
    }),
  );
