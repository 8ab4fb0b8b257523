import type { Db } from '../../../kernel/db/db.ts';
import type { Context } from '../../../kernel/http/context.ts';
import { noteGone, noteLetIn } from '../../../kernel/records/let-in.ts';
import { checkQuota } from '../../../kernel/records/quotas.ts';
import type { TranscriptRow } from '../transcripts.rows.ts';
import { hashOfToken, newToken } from './public.ts';
import { deleteShare, insertShare, sharesQuota } from './shares.sql.ts';

/** A link that was just made; its token and address are shown once. */
interface MadeShare {
  id: string;
  token: string;
  url: string;
  expiresAt: string | null;
}

/** Makes a link by which anybody can read a transcript. Throws 429 when the account has too many. */
export async function makeShare(
  { kernel: { config, clock }, actor }: Pick<Context, 'kernel' | 'actor'>,
  tx: Db,
  { id: transcriptId, account_id: accountId, title }: Pick<TranscriptRow, 'id' | 'account_id' | 'title'>,
  days: number | undefined,
): Promise<MadeShare> {
  await checkQuota(config, tx, sharesQuota, accountId);
  const token = newToken();
  const row = await insertShare(tx, clock, { transcriptId, accountId, tokenHash: hashOfToken(token), days });
  await noteLetIn(tx, actor, { kind: 'share', subject: `${transcriptId}/${row.id}`, name: title ?? '' });
  return { id: row.id, token, url: `${config.hubUrl}/t/${token}`, expiresAt: row.expires_at };
}

/** Ends a link of a transcript; false when there is none. */
export async function endShare(tx: Db, transcriptId: string, id: string): Promise<boolean> {
  // The link first, as when its recording goes: else the two may wait for each other.
  const isGone = await deleteShare(tx, transcriptId, id);
  await noteGone(tx, ['share'], `${transcriptId}/${id}`);
  return isGone;
}
