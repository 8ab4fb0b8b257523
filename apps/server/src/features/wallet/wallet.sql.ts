import type { Db } from '../../kernel/db/db.ts';

/** Adds an entry; false when one with this source key is there already, which makes a retry harmless. */
export async function insertEntry(
  db: Db,
  entry: { accountId: string; amountMicroEur: number; sourceKey: string; note: string },
): Promise<boolean> {
  const rows = await db`
    insert into wallet.ledger (account_id, amount_micro_eur, source_key, note)
    values (${entry.accountId}, ${entry.amountMicroEur}, ${entry.sourceKey}, ${entry.note})
    on conflict (source_key) do nothing returning 1`;
  return rows.length > 0;
}

/** The balance: the sum of the account's entries, in micro-euro. */
export async function sumEntries(db: Db, accountId: string): Promise<number> {
  const [row] = await db<{ balance: number }[]>`
    select coalesce(sum(amount_micro_eur), 0)::bigint as balance from wallet.ledger where account_id = ${accountId}`;
  return row?.balance ?? 0;
}

/** The latest entries, newest first. */
export async function latestEntries(db: Db, accountId: string, limit: number) {
  return db<{ amount_micro_eur: number; source_key: string; note: string; created_at: string }[]>`
    select amount_micro_eur, source_key, note, created_at from wallet.ledger
    where account_id = ${accountId} order by id desc limit ${limit}`;
}

/** An entry as its account sees it. */
interface EntryRow {
  id: string;
  at: string;
  amount_micro_eur: number;
  kind: string;
  note: string;
}

/** Entries of an account, newest first: those that came before the one with the number `before`. */
export async function listEntries(
  db: Db,
  accountId: string,
  { before = null, limit }: { before: string | null | undefined; limit: number },
): Promise<EntryRow[]> {
  return db<EntryRow[]>`
    select id::text as id, created_at as at, amount_micro_eur, split_part(source_key, ':', 1) as kind, note
    from wallet.ledger
    where account_id = ${accountId} and (${before}::text is null or id < ${before}::text::bigint)
    order by ledger.id desc limit ${limit}`;
}

/**
 * Takes an amount from the account's wallet, once for a source key; false when the balance does not cover it. Two debits
 * of one account wait for each other.
 */
export async function debit(
  db: Db,
  entry: { accountId: string; amountMicroEur: number; sourceKey: string; note: string },
): Promise<boolean> {
  const { accountId, amountMicroEur, sourceKey, note } = entry;
  await db`select pg_advisory_xact_lock(hashtextextended(${`wallet:${accountId}`}, 0))`;
  const [known] = await db`select 1 from wallet.ledger where source_key = ${sourceKey}`;
  if (known) return true;
  if ((await sumEntries(db, accountId)) < amountMicroEur) return false;
  await insertEntry(db, { accountId, amountMicroEur: -amountMicroEur, sourceKey, note });
  return true;
}
