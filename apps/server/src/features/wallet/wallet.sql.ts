import type { Db } from '../../kernel/db.ts';

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
