import { contract } from '@svc/contract';
import { type Operation, operation } from '../../kernel/feature.ts';
import { addBookmarks } from './library/bookmarks.ts';
import type { Transcripts } from './transcripts.store.ts';
import { toBookmark } from './transcripts.view.ts';

export const bookmark = (transcripts: Transcripts): Operation =>
  operation(contract.transcripts.bookmark, (context, { params, body }) =>
    context.transaction(async (tx) => {
      const row = await transcripts.lock(tx, context.actor.accountId, params.id);
      const [made] = await addBookmarks(tx, context.clock, row, [body]);
      await transcripts.change(tx, row, {});
      if (!made) throw new Error('a bookmark was not stored');
      return { bookmark: toBookmark(made) };
    }),
  );
