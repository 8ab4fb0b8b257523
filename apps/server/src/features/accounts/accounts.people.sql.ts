import type { ToolLevel } from '@svc/contract';
import { type Db } from '../../kernel/db/db.ts';
import { pageEnd, type PagedRow, type PageQuery } from '../../kernel/db/paging.ts';

/** An account as operators see it. */
export interface PersonRow {
  id: string;
  email: string;
  name: string;
  operator: boolean;
  suspended: boolean;
  subscription: 'active' | 'inactive';
  tool_level: ToolLevel;
  created_at: string;
}

/** An account as its person sees it. */
interface ProfileRow extends Omit<PersonRow, 'suspended' | 'subscription' | 'tool_level'> {
  email_verified: boolean;
  locale: 'en' | 'ro' | null;
  tz: string | null;
}

/** What a person changes of their account; null sets back. */
export interface ProfileChange {
  name?: string | undefined;
  locale?: 'en' | 'ro' | null | undefined;
  tz?: string | null | undefined;
}

const columns = (db: Db) => db`
  a.id, a.email, a.name, a.operator, a.suspended_at is not null as suspended, a.subscription, a.tool_level, a.created_at`;

/** Not those that are being deleted. */
const stays = (db: Db) => db`not exists (select from accounts.deletions d where d.account_id = a.id)`;

/** Accounts, newest first. */
export async function listPeople(db: Db, page: PageQuery): Promise<(PersonRow & PagedRow)[]> {
  return db<(PersonRow & PagedRow)[]>`
    select ${columns(db)}, a.created_at::text as page_at from accounts.accounts a
    where ${stays(db)} ${pageEnd(db, page, { at: db`a.created_at`, id: db`a.id` })}`;
}

/** One account. */
export async function findPersonById(db: Db, id: string): Promise<PersonRow | undefined> {
  const [row] = await db<PersonRow[]>`
    select ${columns(db)} from accounts.accounts a where a.id = ${id} and ${stays(db)}`;
  return row;
}

/** Whether an account is one of those who run this installation. */
export async function isOperator(db: Db, id: string): Promise<boolean> {
  return (await db`select from accounts.accounts where id = ${id} and operator`).length > 0;
}

/** The address of who set the platform up: of its first operator. */
export async function findFirstOperator(db: Db): Promise<string | undefined> {
  const [row] = await db<{ email: string }[]>`
    select email from accounts.accounts where operator and suspended_at is null order by created_at, id limit 1`;
  return row?.email;
}

/** The accounts of those who run the installation. */
export async function listOperators(db: Db): Promise<string[]> {
  const rows = await db<{ id: string }[]>`
    select id from accounts.accounts where operator and suspended_at is null order by id limit 1000`;
  return rows.map(({ id }) => id);
}

/** Any constant: the number under which changes of operators queue up. */
const operatorsLock = 7_822_040;

/** Holds until the transaction ends: of two that would take the last operators away, one sees what the other did. */
export async function lockOperators(db: Db): Promise<void> {
  await db`select pg_advisory_xact_lock(${operatorsLock})`;
}

/** Whether an account is an operator, and no other one that can go on is. */
export async function isLastOperator(db: Db, id: string): Promise<boolean> {
  const rows = await db`
    select from accounts.accounts mine where mine.id = ${id} and mine.operator and not exists (
      select from accounts.accounts a
      where a.operator and a.id <> mine.id and a.suspended_at is null and ${stays(db)})`;
  return rows.length > 0;
}

/** An account as its person sees it. */
export async function findProfile(db: Db, id: string): Promise<ProfileRow | undefined> {
  const [row] = await db<ProfileRow[]>`
    select id, email, name, operator, email_verified_at is not null as email_verified, locale, tz, created_at
    from accounts.accounts where id = ${id}`;
  return row;
}

/** The languages of accounts; of one that chose none, or that there is not, English. */
export async function findLocales(db: Db, ids: readonly string[]): Promise<Map<string, 'en' | 'ro'>> {
  const rows = await db<{ id: string; locale: 'en' | 'ro' | null }[]>`
    select id, locale from accounts.accounts where id = any(${[...new Set(ids)]}::uuid[])`;
  const known = new Map(rows.map(({ id, locale }) => [id, locale]));
  return new Map(ids.map((id) => [id, known.get(id) ?? 'en']));
}

/** Changes what a person may change, the address aside. */
export async function updateProfile(db: Db, id: string, { name, locale, tz }: ProfileChange): Promise<void> {
  await db`
    update accounts.accounts set
      name = coalesce(${name ?? null}, name),
      locale = case when ${locale === undefined} then locale else ${locale ?? null}::text end,
      tz = case when ${tz === undefined} then tz else ${tz ?? null}::text end
    where id = ${id}`;
}
