import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { writeAct } from '../../kernel/records/audit.ts';
import { deleteShare } from './shares/shares.sql.ts';
import type { Transcripts } from './transcripts.store.ts';

export const revokeShare = (transcripts: Transcripts): Operation =>
  operation(contract.transcripts.revokeShare, (context, { params }) =>
    context.transaction(async (tx) => {
      const { accountId } = context.actor;
      const row = await transcripts.get(tx, accountId, params.id);
      if (!(await deleteShare(tx, row.id, params.shareId))) throw notFound('share');
      const details = { share: params.shareId };
      await writeAct(tx, { accountId, by: context.by, action: 'transcripts.revokeShare', subject: row.id, details });
      return { deleted: true as const, id: params.shareId };
    }),
  );
