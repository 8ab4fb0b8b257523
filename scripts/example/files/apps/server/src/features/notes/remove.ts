import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { writeAct } from '../../kernel/records/audit.ts';
import { deleteNote } from './notes.sql.ts';
import { topic } from './notes.view.ts';

export const remove = operation(contract.notes.remove, (context, { params: { id } }) =>
  context.transaction(async (tx) => {
    const { by, kernel } = context;
    const { accountId } = context.actor;
    if (!(await deleteNote(tx, accountId, id))) throw notFound('note');
    await writeAct(tx, { accountId, by, action: 'notes.remove', subject: id });
    await kernel.feed.record(tx, [{ accountId, topic, op: 'deleted', id }]);
    return { deleted: true as const, id };
  }),
);
