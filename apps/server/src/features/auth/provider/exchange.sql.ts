import { type Db, nowOf, type Time } from '../../../kernel/db/db.ts';
import type { Sealed } from '../../../kernel/base/crypto.ts';
import type { RecordKey } from './records.sql.ts';

/** What used tokens and device codes were exchanged for. */
export const sealedTokenAnswers: Sealed = { purpose: 'auth-answer', table: 'auth.records', column: 'answer' };

/**
 * Ends each further statement of a transaction that takes longer, such as one that waits for others. A `lock_timeout` would
 * start anew for each of those that wait before it.
 */
export async function endAfter(tx: Db, ms: number): Promise<void> {
  await tx`select set_config('statement_timeout', ${String(ms)}, true)`;
}

/**
 * Uses a code or token up, and keeps the answer for so many seconds; false when it was used before. Of two at once the second
 * waits for the transaction of the first.
 */
export async function takeOnce(
  tx: Db,
  clock: Time,
  { model, idHash }: RecordKey,
  { sealed, seconds }: { sealed: Buffer | null; seconds: number },
): Promise<boolean> {
  const now = nowOf(tx, clock);
  const rows = await tx`
    update auth.records set consumed_at = ${now}, answer = ${sealed}::bytea,
      answer_until = case when ${sealed}::bytea is not null then ${now} + make_interval(secs => ${seconds}) end
    where model = ${model} and id_hash = ${idHash} and consumed_at is null returning 1`;
  return rows.length > 0;
}

interface UsedRow {
  account_id: string | null;
  client_id: string | null;
  grant_id: string | null;
  answer: Buffer | null;
  is_close: boolean;
}

/** A code or token that was used: its answer while that is given again, and whether it was used within `closeSeconds`. */
export async function findUsed(
  db: Db,
  clock: Time,
  { model, idHash }: RecordKey,
  closeSeconds: number,
): Promise<UsedRow | undefined> {
  const now = nowOf(db, clock);
  const [row] = await db<UsedRow[]>`
    select account_id, client_id, grant_id, case when answer_until > ${now} then answer end as answer,
      consumed_at > ${now} - make_interval(secs => ${closeSeconds}) as is_close
    from auth.records where model = ${model} and id_hash = ${idHash} and consumed_at is not null`;
  return row;
}

/** Forgets answers that are not given any more; at most so many, so that no statement is long. */
export async function sweepAnswers(db: Db, clock: Time, most: number): Promise<number> {
  const { count } = await db`
    update auth.records set answer = null, answer_until = null where (model, id_hash) in (
      select model, id_hash from auth.records
      where answer_until is not null and answer_until <= ${nowOf(db, clock)} limit ${most})`;
  return count;
}
