import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { writeAct } from '../../kernel/records/audit.ts';
import { endShare } from './shares/make.ts';
import type { Transcripts } from './transcripts.store.ts';

export const revokeShare = (transcripts: Transcripts): Operation =>
  operation(contract.transcripts.revokeShare, (context, { params }) =>
    context.transaction(async (tx) => {
      const row = await transcripts.get(tx, context.actor.accountId, params.id);
      if (!(await endShare(tx, row.id, params.shareId))) throw notFound('share');
      const act = { action: 'transcripts.revokeShare', subject: row.id, details: { share: params.shareId } };
      await writeAct(tx, { accountId: row.account_id, by: context.by, ...act });
      return { deleted: true as const, id: params.shareId };
    }),
  );
