import { contract } from '@svc/contract';
import { writeAct } from '../../kernel/records/audit.ts';
import { notFound } from '../../kernel/base/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { Sessions } from './sessions.store.ts';
import { toControl } from './sessions.view.ts';

/** Takes a control back; a repeat answers the same. */
export const withdrawControl = (sessions: Sessions): Operation =>
  operation(contract.sessions.withdrawControl, (context, { params }) =>
    context.transaction(async (tx) => {
      const { accountId } = context.actor;
      const which = { accountId, sessionId: params.id, id: params.control_id };
      const withdrawn = await sessions.withdraw(tx, which);
      if (!withdrawn) throw notFound('control');
      const { id, session_id: session } = withdrawn.control;
      const act = { accountId, by: context.by, subject: id, details: { session } };
      if (withdrawn.isFirst) await writeAct(tx, { ...act, action: 'sessions.withdrawControl' });
      return toControl(withdrawn.control);
    }),
  );
