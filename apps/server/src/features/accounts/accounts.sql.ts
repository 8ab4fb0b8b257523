import type { ToolLevel } from '@svc/contract';
import type { Db } from '../../kernel/db/db.ts';

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

/** What may be changed. */
export interface AccountChange {
  subscription?: 'active' | 'inactive';
  tool_level?: ToolLevel;
  features?: Record<string, boolean>;
}

/** Inserts an account; undefined when its e-mail address is taken. */
export async function insertAccount(
  db: Db,
  account: { email: string; name: string; toolLevel?: ToolLevel },
): Promise<AccountRow | undefined> {
  const [row] = await db<AccountRow[]>`
    insert into accounts.accounts (email, name, tool_level)
    values (${account.email}, ${account.name}, ${account.toolLevel ?? 'l0'})
    on conflict (lower(email)) do nothing
    returning id, email, name, subscription, features, tool_level, suspended_at`;
  return row;
}

/** The account with this e-mail address, whatever its case. */
export async function findAccountByEmail(db: Db, email: string): Promise<AccountRow | undefined> {
  const [row] = await db<AccountRow[]>`
    select id, email, name, subscription, features, tool_level, suspended_at from accounts.accounts
    where lower(email) = lower(${email})`;
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

/** Changes the address; false when another account has it. */
export async function updateEmail(db: Db, id: string, email: string): Promise<boolean> {
  const rows = await db`
    update accounts.accounts set email = ${email}
    where id = ${id}
      and not exists (select 1 from accounts.accounts o where lower(o.email) = lower(${email}) and o.id <> ${id})
    returning 1`;
  return rows.length > 0;
}

/** The e-mail address of an account. */
export async function findEmail(db: Db, id: string): Promise<string | undefined> {
  const [row] = await db<{ email: string }[]>`select email from accounts.accounts where id = ${id}`;
  return row?.email;
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
