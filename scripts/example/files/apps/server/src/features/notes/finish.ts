import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { readNow } from '../../kernel/db/instant.ts';
import { operation } from '../../kernel/feature.ts';
import { columnsOf } from '../../kernel/machine.ts';
import { writeAct } from '../../kernel/records/audit.ts';
import { noteMachine } from './notes.moves.ts';
import { changeNote, lockNote } from './notes.sql.ts';
import { toNote, topic } from './notes.view.ts';

export const finish = operation(contract.notes.finish, (context, { params: { id } }) =>
  context.transaction(async (tx) => {
    const { by, clock, kernel } = context;
    const { accountId } = context.actor;
    const row = await lockNote(tx, accountId, id);
    if (!row) throw notFound('note');
    const change = columnsOf(noteMachine.moves.finish, row, undefined, await readNow(tx, clock));
    if (!change) return toNote(row);
    await writeAct(tx, { accountId, by, action: 'notes.finish', subject: id });
    const note = toNote(await changeNote(tx, id, change));
    await kernel.feed.record(tx, [{ accountId, topic, op: 'updated', id, record: note }]);
    return note;
  }),
);
