import { ApiError } from '../../../kernel/base/errors.ts';
import type { Db, Time } from '../../../kernel/db/db.ts';
import type { BookmarkRow, TranscriptRow } from '../transcripts.rows.ts';
import { countBookmarks, insertBookmarks } from '../transcripts.sql.ts';

const most = 500;

/** Adds marks to a locked transcript. Throws 429 when it would have over 500. */
export async function addBookmarks(
  tx: Db,
  time: Time,
  row: Pick<TranscriptRow, 'id' | 'account_id'>,
  marks: readonly { at_ms: number; note?: string | undefined }[],
): Promise<BookmarkRow[]> {
  if (marks.length > 0 && (await countBookmarks(tx, row.id)) + marks.length > most)
    throw new ApiError('quota_exceeded', `a recording has at most ${most} bookmarks; remove some`, {
      headers: { 'x-should-retry': 'false', 'retry-after': '3600' },
    });
  return insertBookmarks(tx, time, row, marks);
}
