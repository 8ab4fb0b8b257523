import { type Db, nowOf, type Time } from '../../../kernel/db/db.ts';

/** Puts new recovery codes in the place of all that an account had; one caller after the other. */
export async function replaceCodes(db: Db, time: Time, accountId: string, hashes: readonly Buffer[]): Promise<boolean> {
  // Two at once would each delete what they see and leave twenty.
  await db`select pg_advisory_xact_lock(hashtextextended(${`auth.recovery_codes:${accountId}`}, 0))`;
  await db`delete from auth.recovery_codes where account_id = ${accountId}`;
  const { count } = await db`
    insert into auth.recovery_codes (account_id, hash, created_at)
    select s.id, decode(given.hash, 'hex'), ${nowOf(db, time)}
    from accounts.standing_view s, unnest(${hashes.map((hash) => hash.toString('hex'))}::text[]) as given (hash)
    where s.id = ${accountId} and not s.deleting`;
  return count > 0;
}

/** Uses a recovery code; false when the account has no such one, or it was used. */
export async function takeCode(db: Db, time: Time, accountId: string, hash: Buffer): Promise<boolean> {
  const rows = await db`
    update auth.recovery_codes set used_at = ${nowOf(db, time)}
    where account_id = ${accountId} and hash = ${hash} and used_at is null returning 1`;
  return rows.length > 0;
}

/** Recovery codes of an account that are left. */
export async function countCodes(db: Db, accountId: string): Promise<number> {
  const [row] = await db<{ n: number }[]>`
    select count(*)::int as n from auth.recovery_codes where account_id = ${accountId} and used_at is null`;
  return row?.n ?? 0;
}
