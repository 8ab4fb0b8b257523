import type { ToolLevel } from '@svc/contract';
import type { Clock } from '../../kernel/base/clock.ts';
import { spellingsOf } from '../../kernel/base/mailboxes.ts';
import { type Db, nowOf } from '../../kernel/db/db.ts';
import { addCounts, type Counts } from '../../kernel/deletion.ts';

/** An account: a person. */
export interface AccountRow {
  id: string;
  email: string;
  name: string;
  subscription: 'active' | 'inactive';
  features: Record<string, boolean>;
  tool_level: ToolLevel;
  suspended_at: string | null;
}

/** The fields of an account that may be changed. */
export interface AccountChange {
  subscription?: 'active' | 'inactive';
  tool_level?: ToolLevel;
  features?: Record<string, boolean>;
}

/** Whether an account has this address in any of its spellings; `id`: another one than this. */
export const isTaken = (db: Db, email: string, id: string | null = null) => db`exists (
  select 1 from accounts.accounts o join unnest(${spellingsOf(email)}::text[]) as given (email)
    on lower(o.email) = lower(given.email) where o.id is distinct from ${id}::uuid)`;

/** Inserts an account; undefined when its e-mail address is taken. */
export async function insertAccount(
  db: Db,
  account: { email: string; name: string; toolLevel?: ToolLevel },
): Promise<AccountRow | undefined> {
  const [row] = await db<AccountRow[]>`
    insert into accounts.accounts (email, name, tool_level)
    select ${account.email}::text, ${account.name}::text, ${account.toolLevel ?? 'l0'}::text
    where not ${isTaken(db, account.email)}
    on conflict (lower(email)) do nothing
    returning id, email, name, subscription, features, tool_level, suspended_at`;
  return row;
}

/** The account with this e-mail address, whatever its case and spelling. */
export async function findAccountByEmail(db: Db, email: string): Promise<AccountRow | undefined> {
  const [row] = await db<AccountRow[]>`
    select a.id, a.email, a.name, a.subscription, a.features, a.tool_level, a.suspended_at
    from unnest(${spellingsOf(email)}::text[]) with ordinality as given (email, place)
      join accounts.accounts a on lower(a.email) = lower(given.email)
    order by given.place limit 1`;
  return row;
}

/** Every account, oldest first. */
export async function listAccounts(db: Db): Promise<(AccountRow & { created_at: string })[]> {
  return db<(AccountRow & { created_at: string })[]>`
    select id, email, name, subscription, features, tool_level, suspended_at, created_at from accounts.accounts
    order by created_at, id`;
}

/** The accounts, at most `most`: enough to tell whether there is only one. */
export async function someAccounts(db: Db, most: number): Promise<AccountRow[]> {
  return db<AccountRow[]>`
    select id, email, name, subscription, features, tool_level, suspended_at from accounts.accounts limit ${most}`;
}

/**
 * Changes the address, which nobody proved yet; false when another account has it. `isOwn`: its person chose it, who may choose any;
 * the last one that they did not choose is theirs as before.
 */
export async function updateEmail(
  db: Db,
  id: string,
  email: string,
  { isOwn = false }: { isOwn?: boolean } = {},
): Promise<boolean> {
  const isSame = db`lower(email) = lower(${email})`;
  const isFormer = db`coalesce(lower(email_before) = lower(${email}), false)`;
  const rows = await db`
    update accounts.accounts set email = ${email},
      email_verified_at = case when ${isSame} then email_verified_at end,
      email_is_own = ${isOwn} and not ${isFormer} and (email_is_own or not ${isSame}),
      email_before = case when not ${isOwn} or ${isFormer} then null
        when ${isSame} then email_before else coalesce(email_before, email) end
    where id = ${id} and not ${isTaken(db, email, id)}
    returning 1`;
  return rows.length > 0;
}

/** The e-mail address of an account. */
export async function findEmail(db: Db, id: string): Promise<string | undefined> {
  const [row] = await db<{ email: string }[]>`select email from accounts.accounts where id = ${id}`;
  return row?.email;
}

/** Addresses of these accounts, by id. */
export async function emailsOf(db: Db, ids: readonly string[]): Promise<Map<string, string>> {
  const unique = [...new Set(ids)];
  if (unique.length === 0) return new Map();
  const rows = await db<{ id: string; email: string }[]>`
    select id, email from accounts.accounts where id = any(${unique}::uuid[])`;
  return new Map(rows.map(({ id, email }) => [id, email]));
}

/** Changes the given fields; features are merged into those it has. */
export async function updateAccount(db: Db, id: string, change: AccountChange): Promise<AccountRow> {
  const [row] = await db<AccountRow[]>`
    update accounts.accounts set
      subscription = coalesce(${change.subscription ?? null}, subscription),
      tool_level = coalesce(${change.tool_level ?? null}, tool_level),
      features = features || ${db.json(change.features ?? {})}
    where id = ${id} returning id, email, name, subscription, features, tool_level, suspended_at`;
  return row as AccountRow;
}

/** Makes an account one of those who run this installation, or takes that from it. */
export async function setOperator(db: Db, id: string, operator: boolean): Promise<void> {
  await db`update accounts.accounts set operator = ${operator} where id = ${id}`;
}

/** Suspends an account, or lets it go on; a second time changes nothing. */
export async function setSuspended(db: Db, id: string, suspended: boolean): Promise<AccountRow> {
  const [row] = await db<AccountRow[]>`
    update accounts.accounts set suspended_at = ${suspended ? db`coalesce(suspended_at, now())` : db`null`}
    where id = ${id} returning id, email, name, subscription, features, tool_level, suspended_at`;
  return row as AccountRow;
}

/** Whether there is any account; the first start makes the owner's. */
export async function hasAccounts(db: Db): Promise<boolean> {
  const rows = await db`select 1 from accounts.accounts limit 1`;
  return rows.length > 0;
}

/** The address of an account, locked for the transaction. */
export async function lockEmail(db: Db, id: string): Promise<string | undefined> {
  const [row] = await db<{ email: string }[]>`select email from accounts.accounts where id = ${id} for update`;
  return row?.email;
}

/** Notes that an account's deletion began. */
export async function beginDeletion(db: Db, id: string, email: string): Promise<void> {
  await db`
    with remembered as (
      insert into accounts.deleted (id_hash, deleted_at) values (${hashOf(db, db`${id}::uuid`)}, now())
      on conflict do nothing)
    insert into accounts.deletions (account_id, email) values (${id}, ${email}) on conflict (account_id) do nothing`;
}

/** What is remembered of the id of a deleted account: SHA-256. */
const hashOf = (db: Db, id: ReturnType<Db>) => db`sha256(convert_to(${id}::text, 'UTF8'))`;

/** SHA-256 of the ids of accounts that are being deleted, or were, and since when; `most` of them, the newest. */
export async function listDeleted(db: Db, most: number): Promise<{ hash: string; at: string }[]> {
  return db<{ hash: string; at: string }[]>`
    select encode(hash, 'hex') as hash, min(at) as at from (
      select id_hash as hash, deleted_at as at from accounts.deleted
      -- A release before this one wrote these alone.
      union all select ${hashOf(db, db`account_id`)}, began_at from accounts.deletions) all_of_them
    group by hash order by min(at) desc, hash limit ${most}`;
}

/** Suspends those of these accounts, by SHA-256 of their ids, that are not; answers their addresses. */
export async function suspendListed(db: Db, hashes: readonly string[]): Promise<string[]> {
  const rows = await db<{ email: string }[]>`
    update accounts.accounts set suspended_at = now()
    where encode(${hashOf(db, db`id`)}, 'hex') = any(${[...hashes]}::text[]) and suspended_at is null returning email`;
  return rows.map(({ email }) => email);
}

/** Whether the account is being deleted. */
export async function isLeaving(db: Db, id: string): Promise<boolean> {
  return (await db`select 1 from accounts.deletions where account_id = ${id}`).length > 0;
}

/** Adds to what a deletion deleted so far, and notes that it is worked on; answers all of it. */
export async function noteDeletion(db: Db, id: string, deleted: Counts): Promise<Counts> {
  const [row] = await db<{ deleted: Counts }[]>`select deleted from accounts.deletions where account_id = ${id}`;
  const all = { ...row?.deleted };
  addCounts(all, deleted);
  await db`update accounts.deletions set tried_at = now(), deleted = ${db.json(all)} where account_id = ${id}`;
  return all;
}

/** Notes that a deletion is done; answers what it deleted. */
export async function endDeletion(db: Db, id: string, deleted: Counts): Promise<Counts> {
  const all = await noteDeletion(db, id, deleted);
  await db`update accounts.deletions set done_at = now(), email = null where account_id = ${id}`;
  return all;
}

/** Deletes the account's own row; answers how many there were. */
export async function deleteAccountRow(db: Db, id: string): Promise<number> {
  return (await db`delete from accounts.accounts where id = ${id}`).count;
}

/** Deletions that are done, and those that nobody has worked on for two minutes. */
export async function openDeletions(db: Db, time: Pick<Clock, 'instant'>) {
  return db<{ account_id: string; email: string | null; is_done: boolean }[]>`
    select account_id, email, done_at is not null as is_done from accounts.deletions
    where done_at is not null or tried_at < ${nowOf(db, time)} - interval '2 minutes' order by began_at`;
}

/**
 * Forgets what came late of deletions that were done a day ago, and who was deleted once no backup knows them
 * (`keptSeconds`).
 */
export async function forgetDeletions(db: Db, time: Pick<Clock, 'instant'>, keptSeconds: number): Promise<void> {
  await db`delete from accounts.deletions where done_at < ${nowOf(db, time)} - interval '1 day'`;
  await db`
    delete from accounts.deleted where deleted_at < ${nowOf(db, time)} - make_interval(secs => ${keptSeconds}::float8)`;
}

/** Names an account. */
export async function nameAccount(db: Db, id: string, name: string): Promise<void> {
  await db`update accounts.accounts set name = ${name} where id = ${id}`;
}
