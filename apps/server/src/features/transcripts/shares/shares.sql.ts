import { type Db, nowOf, type Time } from '../../../kernel/db/db.ts';
import { noteAllGone } from '../../../kernel/records/let-in.ts';
import { pageEnd, type PagedRow, type PageQuery } from '../../../kernel/db/paging.ts';
import type { Quota } from '../../../kernel/records/quotas.ts';

/** A share link as it is stored: without its token. */
interface ShareRow {
  id: string;
  created_at: string;
  expires_at: string | null;
  last_viewed_at: string | null;
  views: number;
}

const columns = (db: Db) => db`id, created_at, expires_at, last_viewed_at, views`;

/** Limit of the active links of an account. */
export const sharesQuota: Quota = {
  name: 'transcript_shares',
  what: 'active share links',
  remedy: 'revoke some',
  async count(db, accountId) {
    const [row] = await db<{ n: number }[]>`
      select count(*)::int as n from transcripts.shares
      where account_id = ${accountId} and (expires_at is null or expires_at > now())`;
    return row?.n ?? 0;
  },
};

/** Stores a link by the hash of its token. */
export async function insertShare(
  db: Db,
  time: Time,
  share: { transcriptId: string; accountId: string; tokenHash: Buffer; days: number | undefined },
): Promise<ShareRow> {
  const now = nowOf(db, time);
  const [row] = await db<ShareRow[]>`
    insert into transcripts.shares (transcript_id, account_id, token_hash, created_at, expires_at)
    values (${share.transcriptId}, ${share.accountId}, ${share.tokenHash}, ${now},
      ${now}::timestamptz + make_interval(days => ${share.days ?? null}::int))
    returning ${columns(db)}`;
  return row as ShareRow;
}

/** Active links of a transcript, newest first. */
export async function listShares(
  db: Db,
  time: Time,
  transcriptId: string,
  page: PageQuery,
): Promise<(ShareRow & PagedRow)[]> {
  return db<(ShareRow & PagedRow)[]>`
    select ${columns(db)}, created_at::text as page_at from transcripts.shares
    where transcript_id = ${transcriptId} and (expires_at is null or expires_at > ${nowOf(db, time)})
      ${pageEnd(db, page, { at: db`created_at`, id: db`id` })}`;
}

/** Deletes a link; false when there is none. */
export async function deleteShare(db: Db, transcriptId: string, id: string): Promise<boolean> {
  const { count } = await db`delete from transcripts.shares where id = ${id} and transcript_id = ${transcriptId}`;
  return count === 1;
}

/** The transcript that a link leads to, if it is active and its account may share; one look-up, whatever the answer. */
export async function findShared(
  db: Db,
  time: Time,
  tokenHash: Buffer,
): Promise<{ id: string; transcript_id: string; account_id: string; expires_at: string | null } | undefined> {
  const [row] = await db<{ id: string; transcript_id: string; account_id: string; expires_at: string | null }[]>`
    select s.id, s.transcript_id, s.account_id, s.expires_at
    from transcripts.shares s join accounts.standing_view a on a.id = s.account_id
    where s.token_hash = ${tokenHash} and (s.expires_at is null or s.expires_at > ${nowOf(db, time)})
      and a.may_run and coalesce((a.features->>'transcripts')::boolean, true)`;
  return row;
}

/** Counts a view. */
export async function countView(db: Db, time: Time, id: string): Promise<void> {
  await db`update transcripts.shares set views = views + 1, last_viewed_at = ${nowOf(db, time)} where id = ${id}`;
}

/** Forgets links that expired a week ago. */
export async function sweepShares(db: Db, time: Time): Promise<void> {
  const gone = await db<{ id: string; transcript_id: string }[]>`
    delete from transcripts.shares where expires_at < ${nowOf(db, time)}::timestamptz - interval '7 days'
    returning id, transcript_id`;
  await noteAllGone(
    db,
    ['share'],
    gone.map(({ id, transcript_id: of }) => `${of}/${id}`),
  );
}
