import { type Db, nowOf, type Time } from '../../../kernel/db/db.ts';
import type { PreferenceRule } from './rules.ts';

/** The rules of those of the accounts that have some. */
export async function findRules(
  db: Db,
  accountIds: readonly string[],
): Promise<{ account_id: string; rules: PreferenceRule[] }[]> {
  return db<{ account_id: string; rules: PreferenceRule[] }[]>`
    select account_id, rules from notifications.preferences where account_id = any(${[...accountIds]}::uuid[])`;
}

/** Puts the rules of an account in the place of those that it had. */
export async function storeRules(
  db: Db,
  time: Time,
  accountId: string,
  rules: readonly PreferenceRule[],
): Promise<void> {
  await db`
    insert into notifications.preferences (account_id, rules, updated_at)
    values (${accountId}, ${JSON.stringify(rules)}::text::jsonb, ${nowOf(db, time)})
    on conflict (account_id) do update set rules = excluded.rules, updated_at = excluded.updated_at`;
}
