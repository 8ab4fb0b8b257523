import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { deleteBookmark } from './transcripts.sql.ts';
import type { Transcripts } from './transcripts.store.ts';

export const removeBookmark = (transcripts: Transcripts): Operation =>
  operation(contract.transcripts.removeBookmark, (context, { params }) =>
    context.transaction(async (tx) => {
      const row = await transcripts.lock(tx, context.actor.accountId, params.id);
      if (!(await deleteBookmark(tx, row.id, params.bookmarkId))) throw notFound('bookmark');
      await transcripts.change(tx, row, {});
      return { deleted: true as const, id: params.bookmarkId };
    }),
  );
