import type { Db } from '../../../kernel/db/db.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { checkQuota } from '../../../kernel/records/quotas.ts';
import type { TranscriptRow } from '../transcripts.rows.ts';
import { hashOfToken, newToken } from './public.ts';
import { insertShare, sharesQuota } from './shares.sql.ts';

/** A link that was just made; its token and address are shown once. */
interface MadeShare {
  id: string;
  token: string;
  url: string;
  expiresAt: string | null;
}

/** Makes a link by which anybody can read a transcript. Throws 429 when the account has too many. */
export async function makeShare(
  { config, clock }: Pick<Kernel, 'config' | 'clock'>,
  tx: Db,
  { id: transcriptId, account_id: accountId }: Pick<TranscriptRow, 'id' | 'account_id'>,
  days: number | undefined,
): Promise<MadeShare> {
  await checkQuota(config, tx, sharesQuota, accountId);
  const token = newToken();
  const row = await insertShare(tx, clock, { transcriptId, accountId, tokenHash: hashOfToken(token), days });
  return { id: row.id, token, url: `${config.hubUrl}/t/${token}`, expiresAt: row.expires_at };
}
