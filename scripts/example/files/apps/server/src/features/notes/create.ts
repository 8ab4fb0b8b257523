import { contract } from '@svc/contract';
import { type Operation, operation } from '../../kernel/feature.ts';
import { writeAct } from '../../kernel/records/audit.ts';
import { checkQuota } from '../../kernel/records/quotas.ts';
import type { NoteStreams } from './notes.broadcast.ts';
import { noteMachine } from './notes.moves.ts';
import { insertNote, notesQuota } from './notes.sql.ts';
import { toNote } from './notes.view.ts';

export const create = (streams: NoteStreams): Operation =>
  operation(contract.notes.create, (context, { body }) =>
    context.transaction(async (tx) => {
      const { by, clock, kernel } = context;
      const { accountId } = context.actor;
      await checkQuota(kernel.config, tx, notesQuota, accountId);
      const state = noteMachine.moves.create.outcomes[0].to;
      const row = await insertNote(tx, clock, { account_id: accountId, text: body.text, state });
      await writeAct(tx, { accountId, by, action: 'notes.create', subject: row.id });
      await streams.publish(tx, { accountId, note: toNote(row) });
      return toNote(row);
    }),
  );
