import { type Db, nowOf, type Time } from '../../../kernel/db/db.ts';

/** What was counted of one subject. */
interface GuessRow {
  hash: Buffer;
  failures: number;
  /** Seconds until the next try may come; 0 or less: it may come now. */
  wait_s: number;
}

/** Rows of these subjects, locked for the transaction; those that are missing or over are there with no failures. */
export async function lockGuesses(
  db: Db,
  time: Time,
  hashes: readonly Buffer[],
  accountId: string | null,
): Promise<GuessRow[]> {
  const now = nowOf(db, time);
  // In one order: two sign-ins at once must not wait for each other.
  return db<GuessRow[]>`
    insert into auth.guesses as g (hash, account_id, failures, failed_at, expires_at)
    select decode(given.hash, 'hex'), ${accountId}::uuid, 0, ${now}, ${now} + interval '1 day'
    from unnest(${hashes.map((hash) => hash.toString('hex'))}::text[]) as given (hash) order by given.hash
    on conflict (hash) do update set
      failures = case when g.expires_at <= ${now} then 0 else g.failures end,
      waits_until = case when g.expires_at <= ${now} then null else g.waits_until end
    returning g.hash, g.failures, coalesce(extract(epoch from (g.waits_until - ${now})), 0)::float8 as wait_s`;
}

/** Counts one more failure, and sets for how many seconds no further try may come. */
export async function countGuess(db: Db, time: Time, hash: Buffer, waitSeconds: number): Promise<void> {
  const now = nowOf(db, time);
  await db`
    update auth.guesses set failures = failures + 1, failed_at = ${now}, expires_at = ${now} + interval '1 day',
      waits_until = ${waitsUntil(db, time, waitSeconds)}
    where hash = ${hash}`;
}

/** Forgets what was counted of a subject. */
export async function clearGuesses(db: Db, hash: Buffer): Promise<void> {
  await db`delete from auth.guesses where hash = ${hash}`;
}

/** Takes one failure back; `waitSeconds` are those that were left before it. */
export async function uncountGuess(db: Db, time: Time, hash: Buffer, waitSeconds: number): Promise<void> {
  await db`
    update auth.guesses set failures = greatest(0, failures - 1), waits_until = ${waitsUntil(db, time, waitSeconds)}
    where hash = ${hash}`;
}

const waitsUntil = (db: Db, time: Time, seconds: number) =>
  seconds > 0 ? db`${nowOf(db, time)} + make_interval(secs => ${seconds}::float8)` : db`null`;

/** Deletes what is over; of more than `most` rows those go that count least, the oldest first. */
export async function sweepGuesses(db: Db, time: Time, most: number): Promise<void> {
  await db`
    delete from auth.guesses where expires_at <= ${nowOf(db, time)}
      or ((select count(*) from auth.guesses) > ${most}::int and hash in (
        select hash from auth.guesses order by failures desc, failed_at desc offset ${most}))`;
}
