import { contract } from '@svc/contract';
import { type Operation, operation } from '../../kernel/feature.ts';
import { writeAct } from '../../kernel/records/audit.ts';
import { makeShare } from './shares/make.ts';
import type { Transcripts } from './transcripts.store.ts';

export const share = (transcripts: Transcripts): Operation =>
  operation(contract.transcripts.share, (context, { params, body }) =>
    context.transaction(async (tx) => {
      const row = await transcripts.get(tx, context.actor.accountId, params.id);
      const made = await makeShare(context, tx, row, body.expiresInDays);
      const details = { share: made.id, expires_at: made.expiresAt };
      const act = { action: 'transcripts.share', subject: row.id, details };
      await writeAct(tx, { accountId: row.account_id, by: context.by, ...act });
      return made;
    }),
  );
