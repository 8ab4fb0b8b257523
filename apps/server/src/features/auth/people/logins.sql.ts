import type { ToolLevel } from '@svc/contract';
import { type Db, nowOf, type Time } from '../../../kernel/db/db.ts';
import type { Quota } from '../../../kernel/records/quotas.ts';

/** A signed-in browser as it is listed. */
interface LoginRow {
  id: string;
  name: string;
  platform: string;
  network: string;
  amr: string[];
  auth_time: string;
  created_at: string;
  last_seen_at: string;
  /** When it ends if it is not used again. */
  expires_at: string;
}

/** A login that counts now, with its account's standing. */
export interface LoginGrantRow {
  id: string;
  account_id: string;
  auth_time: string;
  amr: string[];
  expires_at: string;
  expires_in_ms: number;
  subscription: 'active' | 'inactive';
  suspended: boolean;
  operator: boolean;
  tool_level: ToolLevel;
  features: Record<string, boolean>;
  /** It was found by the token that it was offered last, and used before. */
  offered: boolean;
}

/** Fields of a new login. */
export interface NewLogin {
  accountId: string;
  /** How the person proved who they are, such as `pwd` or `hwk` (RFC 8176). */
  amr: readonly string[];
  /** When, in milliseconds since the epoch; if unset: now. */
  authTime?: number;
  name: string;
  platform: string;
  /** See `networkOf`. */
  network: string;
}

const endOf = (db: Db) => db`least(l.expires_at, l.last_seen_at + interval '30 days')`;

const counts = (db: Db, time: Time) => db`l.revoked_at is null and ${endOf(db)} > ${nowOf(db, time)}`;

/** A login ends so many days after the proof that it was made with, however often it is used or handed on. */
export const mostDays = 90;

/**
 * The proof that another device gets from a login of an account that counts (RFC 3339): as old as the one that it was made with,
 * so that what it gives ends when it ends itself. Undefined when there is none.
 */
export async function handedOn(db: Db, accountId: string, id: string): Promise<string | undefined> {
  const [row] = await db<{ at: string }[]>`
    select least(auth_time, expires_at - make_interval(days => ${mostDays})) as at from auth.logins
    where id = ${id} and account_id = ${accountId} and revoked_at is null`;
  return row?.at;
}

/** Inserts a login; undefined when its account is suspended, being deleted or gone. */
export async function insertLogin(
  db: Db,
  time: Time,
  tokenHash: Buffer,
  login: NewLogin,
): Promise<{ id: string; expires_at: string } | undefined> {
  const now = nowOf(db, time);
  // `least` leaves null out.
  const provedAt = login.authTime === undefined ? null : new Date(login.authTime).toISOString();
  const [row] = await db<{ id: string; expires_at: string }[]>`
    insert into auth.logins
      (account_id, token_hash, auth_time, amr, name, platform, network, created_at, last_seen_at, expires_at)
    select id, ${tokenHash}, least(${now}, ${provedAt}::timestamptz), ${[...login.amr]}, ${login.name}, ${login.platform}, ${login.network}, ${now}, ${now},
      least(${now}, ${provedAt}::timestamptz) + make_interval(days => ${mostDays})
    from accounts.standing_view where id = ${login.accountId} and not suspended and not deleting
    returning id, expires_at`;
  return row;
}

/**
 * The login with this hash of its token, or of the one that it was offered, if it counts. The path of every request:
 * two index look-ups in logins, one in accounts.
 */
export async function findLogin(db: Db, time: Time, tokenHash: Buffer): Promise<LoginGrantRow | undefined> {
  const [row] = await db<LoginGrantRow[]>`
    select l.id, l.account_id, l.auth_time, l.amr, ${endOf(db)} as expires_at,
      1000 * extract(epoch from (${endOf(db)} - ${nowOf(db, time)}))::float8 as expires_in_ms,
      a.subscription, a.suspended, a.operator, a.tool_level, a.features, l.token_hash <> ${tokenHash} as offered
    from auth.logins l join accounts.standing_view a on a.id = l.account_id
    where (l.token_hash = ${tokenHash} or l.offered_hash = ${tokenHash})
      and ${counts(db, time)}`;
  return row;
}

/**
 * Notes a token that counts for a login once it is used, however late: the browser that got it has no other one. It
 * takes the place of one that was offered before; false where no login that counts has the token that is shown. A token
 * that ended while its request came gets no other one.
 */
export async function offerToken(
  db: Db,
  time: Time,
  { id, shown, offered }: { id: string; shown: Buffer; offered: Buffer },
): Promise<boolean> {
  const { count } = await db`
    update auth.logins l set offered_hash = ${offered}
    where l.id = ${id} and l.token_hash = ${shown} and ${counts(db, time)}`;
  return count > 0;
}

/** Makes the token that a login was offered its only one; false where it is that already, or is offered no more. */
export async function takeToken(db: Db, time: Time, tokenHash: Buffer): Promise<boolean> {
  const { count } = await db`
    update auth.logins set token_hash = offered_hash, offered_hash = null, taken_at = ${nowOf(db, time)}
    where offered_hash = ${tokenHash}`;
  return count > 0;
}

/** Notes that a login was used; at most once a minute. */
export async function touchLogin(db: Db, time: Time, id: string): Promise<void> {
  const now = nowOf(db, time);
  await db`
    update auth.logins set last_seen_at = ${now} where id = ${id} and last_seen_at < ${now} - interval '1 minute'`;
}

/** Logins of an account that count, the one seen last first. */
export async function listLogins(db: Db, time: Time, accountId: string): Promise<LoginRow[]> {
  return db<LoginRow[]>`
    select l.id, l.name, l.platform, l.network, l.amr, l.auth_time, l.created_at, l.last_seen_at, ${endOf(db)} as expires_at
    from auth.logins l where l.account_id = ${accountId} and ${counts(db, time)}
    order by l.last_seen_at desc, l.id desc limit 1000`;
}

/** When a login of each account was used last, of those that count. */
export async function lastSeenOf(
  db: Db,
  time: Time,
  accountIds: readonly string[],
): Promise<{ account_id: string; at: string }[]> {
  return db<{ account_id: string; at: string }[]>`
    select l.account_id, max(l.last_seen_at) as at from auth.logins l
    where l.account_id = any(${[...accountIds]}::uuid[]) and ${counts(db, time)} group by l.account_id`;
}

/** Ends logins of an account that count: `only` one, all but one (`except`), or all; answers which. */
export async function revokeLogins(
  db: Db,
  time: Time,
  accountId: string,
  which: { only?: string; except?: string | undefined },
): Promise<string[]> {
  const rows = await db<{ id: string }[]>`
    update auth.logins l set revoked_at = ${nowOf(db, time)}
    where l.account_id = ${accountId} and ${counts(db, time)}
      ${which.only === undefined ? db`` : db`and l.id = ${which.only}`}
      ${which.except === undefined ? db`` : db`and l.id <> ${which.except}`}
    returning l.id`;
  return rows.map(({ id }) => id);
}

/** Ends the logins beyond the `most` that were seen last, aside from `kept`; answers which. */
export async function revokeBeyond(
  db: Db,
  time: Time,
  { accountId, most, kept }: { accountId: string; most: number; kept: string },
): Promise<string[]> {
  const rows = await db<{ id: string }[]>`
    update auth.logins set revoked_at = ${nowOf(db, time)} where id in (
      select l.id from auth.logins l where l.account_id = ${accountId} and ${counts(db, time)} and l.id <> ${kept}
      order by l.last_seen_at desc, l.created_at desc, l.id offset ${Math.max(0, most - 1)})
    returning id`;
  return rows.map(({ id }) => id);
}

/** Deletes the ended logins of an account beyond the hundred newest: signing in again and again keeps no rows. */
export async function trimEnded(db: Db, time: Time, accountId: string): Promise<void> {
  await db`
    delete from auth.logins where id in (
      select l.id from auth.logins l where l.account_id = ${accountId} and not (${counts(db, time)})
      order by l.created_at desc, l.id offset 100)`;
}

/** Notes a fresh proof of who the person is; undefined when the login does not count. */
export async function setAuthTime(
  db: Db,
  time: Time,
  { accountId, id, amr }: { accountId: string; id: string; amr: readonly string[] },
): Promise<string | undefined> {
  const [row] = await db<{ auth_time: string }[]>`
    update auth.logins l set auth_time = ${nowOf(db, time)}, amr = ${[...amr]}
    where l.id = ${id} and l.account_id = ${accountId} and ${counts(db, time)} returning l.auth_time`;
  return row?.auth_time;
}

/** Changes the name of a login that counts; false when there is none. */
export async function renameLogin(db: Db, time: Time, accountId: string, id: string, name: string): Promise<boolean> {
  const { count } = await db`
    update auth.logins l set name = ${name} where l.id = ${id} and l.account_id = ${accountId} and ${counts(db, time)}`;
  return count > 0;
}

/**
 * Those of the logins that do not count now, or whose account may not go on, or whose cookie was changed within two
 * minutes: what is open by the former one is of who has a copy.
 */
export async function lapsedLogins(db: Db, time: Time, ids: readonly string[]): Promise<string[]> {
  const rows = await db<{ id: string }[]>`
    select given.id from unnest(${[...ids]}::uuid[]) as given (id)
    where not exists (
      select from auth.logins l join accounts.standing_view a on a.id = l.account_id
      where l.id = given.id and ${counts(db, time)} and a.may_run
        and (l.taken_at is null or l.taken_at < ${nowOf(db, time)} - interval '2 minutes'))`;
  return rows.map(({ id }) => id);
}

/** Whether the account signed in from this network in the last 30 days. */
export async function isKnownNetwork(db: Db, time: Time, accountId: string | null, network: string): Promise<boolean> {
  const rows = await db`
    select 1 from auth.logins where account_id = ${accountId} and network = ${network}
      and last_seen_at > ${nowOf(db, time)} - interval '30 days' limit 1`;
  return rows.length > 0;
}

/** Deletes logins that ended, once their network is no longer known by them. */
export async function forgetLogins(db: Db, time: Time): Promise<void> {
  // Nothing is seen after its end, and 30 days without being seen are an end. What was ended by a person stays two days more: what
  // hangs on a login is forgotten every night, and only an ended one says that it is to be.
  await db`
    delete from auth.logins where last_seen_at < ${nowOf(db, time)} - interval '30 days'
      and (revoked_at is null or revoked_at < ${nowOf(db, time)} - interval '2 days')`;
}

/** Limit of the browsers that are signed in to an account. */
export const loginsQuota: Quota = {
  name: 'logins',
  remedy: 'sign one out',
  async count(db, accountId) {
    const [row] = await db<{ n: number }[]>`
      select count(*)::int as n from auth.usable_view where account_id = ${accountId}`;
    return row?.n ?? 0;
  },
};
