import { contract } from '@svc/contract';
import { ApiError } from '../../kernel/base/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { countBookmarks, insertBookmarks } from './transcripts.sql.ts';
import type { Transcripts } from './transcripts.store.ts';
import { toBookmark } from './transcripts.view.ts';

const most = 500;

export const bookmark = (transcripts: Transcripts): Operation =>
  operation(contract.transcripts.bookmark, (context, { params, body }) =>
    context.transaction(async (tx) => {
      const row = await transcripts.lock(tx, context.actor.accountId, params.id);
      if ((await countBookmarks(tx, row.id)) >= most)
        throw new ApiError('quota_exceeded', `a recording has at most ${most} bookmarks; remove some`, {
          headers: { 'x-should-retry': 'false', 'retry-after': '3600' },
        });
      const [made] = await insertBookmarks(tx, context.clock, row, [body]);
      await transcripts.change(tx, row, {});
      if (!made) throw new Error('a bookmark was not stored');
      return { bookmark: toBookmark(made) };
    }),
  );
