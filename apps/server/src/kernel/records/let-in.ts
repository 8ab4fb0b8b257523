import type { LetInKind } from '@svc/contract';
import type { Actor } from '../base/actor.ts';
import { ApiError } from '../base/errors.ts';
import type { Db } from '../db/db.ts';
import type { Who } from './audit.ts';

/** What an app let in: it stays until somebody removes it, and is taken back when the app is disconnected. */
interface LetIn {
  kind: LetInKind;
  /** Ids, the widest first, with `/` between. */
  subject: string;
  /** For people: an address, a port, a host. */
  name: string;
  /** What it was before, where it was there. */
  before?: string | undefined;
  /** What else it was, of what an account lost; the feature's own word. */
  beforeNote?: string | undefined;
}

/**
 * What a feature takes back, of an app that is disconnected: by its kind, in the transaction that ends the connection. It throws
 * for nothing that others chose: they would stay by it. `lock` locks before any of it what others hold while they change that.
 */
export type TakesBack = Partial<Record<LetInKind, (tx: Db, taken: Taken) => Promise<void>>> & {
  lock?: (tx: Db, all: readonly Taken[]) => Promise<void>;
};

/** One of these. */
interface Taken {
  kind: LetInKind;
  /** The ids of its subject. */
  ids: readonly string[];
  before: string | undefined;
  beforeNote: string | undefined;
  /** Whose app let it in. */
  accountId: string;
  by: Who;
}

/** The connection whose end takes back what the caller lets in; undefined: it stays. */
export const appOf = ({ connectionId, isOwnApp = false }: Actor): string | undefined =>
  isOwnApp ? undefined : connectionId;

/** An app that is left alone for years must not hold thousands: ending it takes all of them back at once. */
const mostOfApp = 300;

/**
 * Notes what the caller lets in, in the transaction that does: of an app so that it ends with it; what the account lets in by
 * itself, or by the product's own command line, stays, whoever did before. Throws 429 when the app let in 300 things.
 */
export async function noteLetIn(db: Db, actor: Actor, { kind, subject, name, before }: LetIn): Promise<void> {
  const { accountId } = actor;
  const connectionId = appOf(actor);
  if (connectionId === undefined) {
    await db`delete from kernel.let_in where kind = ${kind} and subject = ${subject} and account_id = ${accountId}`;
    return;
  }
  // What it was before the first change counts.
  const rows = await db`
    insert into kernel.let_in (connection_id, kind, subject, account_id, name, before)
    select ${connectionId}, ${kind}, ${subject}, ${accountId}, ${name.slice(0, 120)}, ${before ?? null}
    where (select count(*) from kernel.let_in where connection_id = ${connectionId}) < ${mostOfApp}
      or exists (select from kernel.let_in where connection_id = ${connectionId} and kind = ${kind} and subject = ${subject})
    on conflict (connection_id, kind, subject) do update set name = excluded.name returning 1`;
  if (rows.length === 0)
    throw new ApiError(
      'quota_exceeded',
      `this app let in ${mostOfApp} people, ports, addresses and the like; remove some`,
    );
}

/**
 * Notes that what somebody was let in by is gone, with what is below it where `subject` ends with `/`. `accountId`: only what the
 * apps of one account let in there; `except`: not what those of that one did.
 */
export async function noteGone(
  db: Db,
  kinds: readonly LetInKind[],
  subject: string,
  { accountId, except }: { accountId?: string; except?: string } = {},
): Promise<void> {
  // `0` follows `/` in the order of bytes.
  const which = subject.endsWith('/')
    ? db`subject >= ${subject} and subject < ${`${subject.slice(0, -1)}0`}`
    : db`subject = ${subject}`;
  await db`delete from kernel.let_in where kind = any(${[...kinds]}::text[]) and ${which}
    ${accountId === undefined ? db`` : db`and account_id = ${accountId}`}
    ${except === undefined ? db`` : db`and account_id <> ${except}`}`;
}

/** Notes that these are gone. */
export async function noteAllGone(db: Db, kinds: readonly LetInKind[], subjects: readonly string[]): Promise<void> {
  if (subjects.length > 0)
    await db`
      delete from kernel.let_in where kind = any(${[...kinds]}::text[]) and subject = any(${[...subjects]}::text[])`;
}

/**
 * Notes that an account vouches for somebody whom apps of others let in: they stay, unless the account itself, `own`, came by
 * the same apps.
 */
export async function noteVouched(
  db: Db,
  accountId: string,
  kinds: readonly LetInKind[],
  { subject, own }: { subject: string; own: string },
): Promise<void> {
  await db`
    delete from kernel.let_in l
    where l.kind = any(${[...kinds]}::text[]) and l.subject = ${subject} and l.account_id <> ${accountId}
      and not exists (
        select from kernel.let_in o
        where o.account_id = l.account_id and o.kind = any(${[...kinds]}::text[]) and o.subject = ${own})`;
}

/** The apps of an account that let somebody in. */
export async function appsThatLetIn(
  db: Db,
  accountId: string,
  kinds: readonly LetInKind[],
  subject: string,
): Promise<string[]> {
  const rows = await db<{ connection_id: string }[]>`
    select distinct connection_id from kernel.let_in
    where kind = any(${[...kinds]}::text[]) and subject = ${subject} and account_id = ${accountId}`;
  return rows.map(({ connection_id: id }) => id);
}

/** Notes what an account lost by these apps of its own, or to whom they let in: it is back when one of them is disconnected. */
export async function noteLost(
  db: Db,
  connectionIds: readonly string[],
  { kind, subject, name, before, beforeNote, accountId }: LetIn & { accountId: string },
): Promise<void> {
  await db`
    insert into kernel.let_in (connection_id, kind, subject, account_id, name, before, before_note)
    select id, ${kind}, ${subject}, ${accountId}, ${name.slice(0, 120)}, ${before ?? null}, ${beforeNote ?? null}
    from unnest(${[...connectionIds]}::uuid[]) id on conflict do nothing`;
}

/** What is shown of an app's guests: the newest of each, and how many there are. */
interface Guests {
  shown: { kind: LetInKind; name: string; created_at: string }[];
  total: number;
}

const mostShown = 20;

/** What apps let in, by connection. */
export async function guestsOf(db: Db, connectionIds: readonly string[]): Promise<Map<string, Guests>> {
  const rows = await db<{ connection_id: string; kind: LetInKind; name: string; created_at: string; total: number }[]>`
    select connection_id, kind, name, created_at, total from (
      select l.*, count(*) over (partition by connection_id)::int as total,
        row_number() over (partition by connection_id order by created_at desc, kind, subject) as place
      from kernel.let_in l where connection_id = any(${[...connectionIds]}::uuid[]) and kind <> 'ended') numbered
    where place <= ${mostShown} order by place`;
  const found = new Map<string, Guests>();
  for (const { connection_id: id, total, ...shown } of rows) {
    const guests = found.get(id) ?? { shown: [], total };
    guests.shown.push(shown);
    found.set(id, guests);
  }
  return found;
}

/** Both wait for each other: what an app's request does, and the end of its connection. */
const lockOf = (connectionId: string): string => `let in by ${connectionId}`;

/** Begins a transaction of an app's request. Throws 401 when it was disconnected meanwhile: what is made now nobody would find. */
export async function enterAsApp(db: Db, connectionId: string): Promise<void> {
  await db`select pg_advisory_xact_lock_shared(hashtextextended(${lockOf(connectionId)}, 0))`;
  const ended = await db`select 1 from kernel.let_in where connection_id = ${connectionId} and kind = 'ended'`;
  if (ended.length === 0) return;
  const headers = { 'www-authenticate': 'Bearer' };
  throw new ApiError('invalid_api_key', 'this app was disconnected; connect it again', { headers });
}

/** Waits for what an app does now, and has it do nothing more. First in the transaction that ends its connection. */
export async function shutOut(db: Db, { accountId, connectionId }: { accountId: string; connectionId: string }) {
  await db`select pg_advisory_xact_lock(hashtextextended(${lockOf(connectionId)}, 0))`;
  await db`
    insert into kernel.let_in (connection_id, kind, subject, account_id, name)
    values (${connectionId}, 'ended', '', ${accountId}, '') on conflict do nothing`;
}

/** What an app let in, in the order in which it is taken back. */
async function takenOf(db: Db, connectionId: string, by: Who): Promise<Taken[]> {
  // What the account itself lost is first: it may own again what else nobody would own.
  type Row = {
    kind: LetInKind;
    subject: string;
    before: string | null;
    before_note: string | null;
    account_id: string;
  };
  const rows = await db<Row[]>`
    select kind, subject, before, before_note, account_id from kernel.let_in
    where connection_id = ${connectionId} and kind <> 'ended'
    order by (kind = 'role' and subject like '%/' || account_id) desc, subject, kind`;
  return rows.map(({ kind, subject, before, before_note: beforeNote, account_id: accountId }) => ({
    kind,
    ids: subject.split('/'),
    before: before ?? undefined,
    beforeNote: beforeNote ?? undefined,
    accountId,
    by,
  }));
}

/**
 * Takes back what an app let in that is shut out; answers how much that was. Whoever changes one of these has it, and goes on to
 * budgets and to what is noted here: so the locks come first, and what is noted goes last.
 */
export async function takeBack(
  db: Db,
  connectionId: string,
  { by, takes }: { by: Who; takes: readonly TakesBack[] },
): Promise<number> {
  const before = await takenOf(db, connectionId, by);
  for (const { lock } of takes) await lock?.(db, before);
  const all = await takenOf(db, connectionId, by);
  for (const taken of all) for (const of of takes) await of[taken.kind]?.(db, taken);
  await db`delete from kernel.let_in where connection_id = ${connectionId} and kind <> 'ended'`;
  return all.length;
}

/** Those of these connections that let something in, or changed something. */
export async function whichLetIn(db: Db, connectionIds: readonly string[]): Promise<Set<string>> {
  const rows = await db<{ connection_id: string }[]>`
    select connection_id from kernel.let_in
    where connection_id = any(${[...connectionIds]}::uuid[]) and kind <> 'ended'
    union select connection_id from kernel.app_changes where connection_id = any(${[...connectionIds]}::uuid[])`;
  return new Set(rows.map(({ connection_id: id }) => id));
}

/** Forgets that connections ended, once nothing of them can be under way. */
export async function forgetShutOut(db: Db): Promise<void> {
  await db`delete from kernel.let_in where kind = 'ended' and created_at < now() - interval '30 days'`;
}
