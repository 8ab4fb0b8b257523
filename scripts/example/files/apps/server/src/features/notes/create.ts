import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { writeAct } from '../../kernel/records/audit.ts';
import { checkQuota } from '../../kernel/records/quotas.ts';
import { noteMachine } from './notes.moves.ts';
import { insertNote, notesQuota } from './notes.sql.ts';
import { toNote, topic } from './notes.view.ts';

export const create = operation(contract.notes.create, (context, { body }) =>
  context.transaction(async (tx) => {
    const { by, clock, kernel } = context;
    const { accountId } = context.actor;
    await checkQuota(kernel.config, tx, notesQuota, accountId);
    const state = noteMachine.moves.create.outcomes[0].to;
    const row = await insertNote(tx, clock, { account_id: accountId, text: body.text, state });
    const note = toNote(row);
    await writeAct(tx, { accountId, by, action: 'notes.create', subject: note.id });
    await kernel.feed.record(tx, [{ accountId, topic, op: 'created', id: note.id, record: note }]);
    return note;
  }),
);
