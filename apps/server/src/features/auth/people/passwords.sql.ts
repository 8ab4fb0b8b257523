import { spellingsOf } from '../../../kernel/base/mailboxes.ts';
import { type Db, nowOf, type Time } from '../../../kernel/db/db.ts';

/** Who signs in by an address. */
interface PersonRow {
  account_id: string;
  /** The address that the account has: what was typed may be another one that Unicode lower-cases to the same. */
  email: string;
  /** Neither suspended nor being deleted. */
  may_sign_in: boolean;
  /** PHC string; null: no password is set. */
  hash: string | null;
}

/** The account with this address, whatever its case and spelling. */
export async function findPerson(db: Db, email: string): Promise<PersonRow | undefined> {
  const [row] = await db<PersonRow[]>`
    select p.id as account_id, p.email, not s.suspended and not s.deleting as may_sign_in, w.hash
    from unnest(${spellingsOf(email)}::text[]) with ordinality as given (email, place)
      join accounts.people_view p on lower(p.email) = lower(given.email) join accounts.standing_view s on s.id = p.id
      left join auth.passwords w on w.account_id = p.id
    order by given.place limit 1`;
  return row;
}

/**
 * Whether the account with this address signed in from this network in the last 30 days: `isKnownNetwork`, by one read.
 */
export async function isKnownPerson(db: Db, time: Time, email: string, network: string): Promise<boolean> {
  const rows = await db`
    select 1 from unnest(${spellingsOf(email)}::text[]) as given (email)
      join accounts.people_view p on lower(p.email) = lower(given.email)
      join auth.logins l on l.account_id = p.id and l.network = ${network}
    where l.last_seen_at > ${nowOf(db, time)} - interval '30 days' limit 1`;
  return rows.length > 0;
}

/** The password's hash of an account. */
export async function findPassword(db: Db, accountId: string): Promise<string | undefined> {
  const [row] = await db<{ hash: string }[]>`select hash from auth.passwords where account_id = ${accountId}`;
  return row?.hash;
}

/** The address of an account that is not being deleted. */
export async function findAddress(db: Db, accountId: string): Promise<{ email: string; name: string } | undefined> {
  const [row] = await db<{ email: string; name: string }[]>`
    select p.email, p.name from accounts.people_view p join accounts.standing_view s on s.id = p.id
    where p.id = ${accountId} and not s.deleting`;
  return row;
}

/** Sets the password of an account. */
export async function upsertPassword(db: Db, time: Time, accountId: string, hash: string): Promise<void> {
  await db`
    insert into auth.passwords (account_id, hash, changed_at) values (${accountId}, ${hash}, ${nowOf(db, time)})
    on conflict (account_id) do update set hash = excluded.hash, changed_at = excluded.changed_at`;
}

/** Takes the password of an account away; false when it had none. */
export async function deletePassword(db: Db, accountId: string): Promise<boolean> {
  return (await db`delete from auth.passwords where account_id = ${accountId}`).count > 0;
}
