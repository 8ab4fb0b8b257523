import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { Sessions } from './sessions.store.ts';
import type { SessionListener } from './sessions.turns.ts';
import { deleteSession } from './sessions.sql.ts';
import { topic } from './sessions.view.ts';

/** Deletes a session; streams that follow it end. */
export const remove = ({ streams }: Sessions, listener: SessionListener): Operation =>
  operation(contract.sessions.remove, (context, { params }) =>
    context.transaction(async (tx) => {
      const { accountId } = context.actor;
      const { id } = params;
      if (!(await deleteSession(tx, accountId, id))) throw notFound('session');
      await listener.gone(tx, id);
      await context.kernel.feed.record(tx, [{ accountId, topic, op: 'deleted', id }]);
      await streams.publish(tx, { sessionId: id, gone: true });
      return { deleted: true as const, id };
    }),
  );
