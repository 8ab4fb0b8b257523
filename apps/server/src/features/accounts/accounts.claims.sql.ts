import { spellingsOf } from '../../kernel/base/mailboxes.ts';
import type { Db } from '../../kernel/db/db.ts';
import { isTaken } from './accounts.sql.ts';

/** An account that lost an address that it had given to itself. */
export interface FreedAddress {
  accountId: string;
  /** The address that it lost. */
  before: string;
  /** The one that it has now: that of before, or one of nobody where somebody else has that by now. */
  email: string;
}

/** An address that its account set by itself, and that nobody proved. */
const isUnproved = (db: Db) => db`(a.email_is_own and a.email_verified_at is null)`;

/** Whether the address of an account is one that it gave to itself and never proved. */
export async function hasUnprovedAddress(db: Db, id: string): Promise<boolean> {
  return (await db`select from accounts.accounts a where a.id = ${id} and ${isUnproved(db)}`).length > 0;
}

/** Notes that whoever has an account reads the mailbox of its address; nothing where it has another address by now. */
export async function proveAddress(db: Db, id: string, email: string): Promise<void> {
  await db`
    update accounts.accounts a set email_verified_at = now()
    where a.id = ${id} and ${isUnproved(db)}
      and lower(a.email) in (select lower(given.email) from unnest(${spellingsOf(email)}::text[]) as given (email))`;
}

/** Takes an address from accounts that gave it to themselves and never proved it; `except`: an account that keeps it. */
export async function freeUnproved(db: Db, email: string, except: string | null = null): Promise<FreedAddress[]> {
  const rows = await db<{ id: string; email: string; email_before: string | null }[]>`
    select a.id, a.email, a.email_before
    from accounts.accounts a
    where lower(a.email) in (select lower(given.email) from unnest(${spellingsOf(email)}::text[]) as given (email))
      and ${isUnproved(db)} and a.id is distinct from ${except}::uuid order by a.id for update of a`;
  const freed: FreedAddress[] = [];
  for (const { id, email: before, email_before: former } of rows) {
    const nobody = `${id}@localhost`;
    const [row] = await db<{ email: string }[]>`
      update accounts.accounts set email_is_own = false, email_before = null, email_verified_at = null,
        email = case when ${former === null} or ${isTaken(db, former ?? '', id)} then ${nobody} else ${former ?? ''} end
      where id = ${id} returning email`;
    freed.push({ accountId: id, before, email: row?.email ?? nobody });
  }
  return freed;
}
