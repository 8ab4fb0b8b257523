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

/**
 * The same on a row that names its transcript. The transcripts of a scope are listed once: joined, the rows that a search finds
 * would be looked for in each of them, where the planner takes an account for a small one.
 */
export const isInScope = (db: Db, accountId: string, scope: Scope) =>
  Object.values(scope).every((value) => value === undefined)
    ? db``
    : db`and transcript_id = any(array(
        select t.id from transcripts.transcripts t where t.account_id = ${accountId} ${inScope(db, scope)}))`;

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
    select transcript_id, seq, to_seq, bytes from transcripts.vectors
    where account_id = ${accountId} and model = ${model} and length(bits) = ${bits.length} ${isInScope(db, accountId, scope)}
    order by bit_count(bits # (select ${bits}::text::bit varying)), transcript_id, seq limit ${limit}`;
}

/** Whether the account has any vectors. */
export async function hasVectors(db: Db, accountId: string): Promise<boolean> {
  const [row] = await db`select from transcripts.vectors where account_id = ${accountId} limit 1`;
  return row !== undefined;
}
