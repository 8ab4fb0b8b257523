import type { Db } from '../../../kernel/db/db.ts';
import type { TranscriptRow } from '../transcripts.rows.ts';

/** A passage as a vector: its signs as text of 0 and 1, and its numbers as signed bytes. */
export interface VectorRow {
  seq: number;
  to_seq: number;
  bits: string;
  bytes: Buffer;
}

/** Puts vectors in the places of those that a transcript has. */
export async function replaceVectors(
  db: Db,
  { id, account_id: accountId }: Pick<TranscriptRow, 'id' | 'account_id'>,
  model: string,
  rows: readonly VectorRow[],
): Promise<void> {
  await db`delete from transcripts.vectors where transcript_id = ${id}`;
  for (const { seq, to_seq: toSeq, bits, bytes } of rows)
    await db`
      insert into transcripts.vectors (transcript_id, account_id, seq, to_seq, model, bits, bytes)
      values (${id}, ${accountId}, ${seq}, ${toSeq}, ${model}, ${bits}::text::bit varying, ${bytes})`;
}

/** A passage that is near a question by its signs. */
interface NearRow {
  transcript_id: string;
  seq: number;
  to_seq: number;
  bytes: Buffer;
}

/** Which recordings a search looks at. */
export interface Scope {
  folder_id?: string | undefined;
  tag?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
  transcript_ids?: readonly string[] | undefined;
}

/** The condition of a scope on a transcript `t`. */
export const inScope = (db: Db, { folder_id: folder, tag, from, to, transcript_ids: ids }: Scope) => db`
  ${folder === undefined ? db`` : db`and t.folder_id = ${folder}`}
  ${tag === undefined ? db`` : db`and ${tag} = any(t.tags)`}
  ${from === undefined ? db`` : db`and t.started_at >= ${from}`}
  ${to === undefined ? db`` : db`and t.started_at < ${to}`}
  ${ids === undefined ? db`` : db`and t.id = any(${[...ids]}::uuid[])`}`;

/** The passages of an account whose signs differ least from a question's: recall 0.99 of ten among 400 (design: measured). */
export async function nearestVectors(
  db: Db,
  {
    accountId,
    model,
    bits,
    scope,
    limit,
  }: { accountId: string; model: string; bits: string; scope: Scope; limit: number },
): Promise<NearRow[]> {
  return db<NearRow[]>`
    select v.transcript_id, v.seq, v.to_seq, v.bytes
    from transcripts.vectors v join transcripts.transcripts t on t.id = v.transcript_id
    where v.account_id = ${accountId} and v.model = ${model} and length(v.bits) = ${bits.length} ${inScope(db, scope)}
    order by bit_count(v.bits # ${bits}::text::bit varying), v.transcript_id, v.seq limit ${limit}`;
}

/** Whether the account has any vectors. */
export async function hasVectors(db: Db, accountId: string): Promise<boolean> {
  const [row] = await db`select from transcripts.vectors where account_id = ${accountId} limit 1`;
  return row !== undefined;
}
