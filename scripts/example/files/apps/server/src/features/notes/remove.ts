import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { writeAct } from '../../kernel/records/audit.ts';
import { deleteNote } from './notes.sql.ts';

export const remove = operation(contract.notes.remove, (context, { params: { id } }) =>
  context.transaction(async (tx) => {
    const { by } = context;
    const { accountId } = context.actor;
    if (!(await deleteNote(tx, accountId, id))) throw notFound('note');
    await writeAct(tx, { accountId, by, action: 'notes.remove', subject: id });
    return { deleted: true as const, id };
  }),
);
