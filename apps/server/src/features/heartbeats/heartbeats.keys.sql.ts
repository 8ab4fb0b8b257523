import { type Db, nowOf, type Time } from '../../kernel/db/db.ts';
import { pageEnd, type PagedRow, type PageQuery } from '../../kernel/db/paging.ts';
import type { MonitorState } from './heartbeats.rules.ts';

/** Gives the account a ping key; the one that it had ends. */
export async function replacePingKey(db: Db, time: Time, accountId: string, keyHash: Buffer): Promise<string> {
  const [row] = await db<{ created_at: string }[]>`
    insert into heartbeats.ping_keys (account_id, key_hash, created_at)
    values (${accountId}, ${keyHash}, date_trunc('milliseconds', ${nowOf(db, time)}))
    on conflict (account_id) do update set key_hash = excluded.key_hash, created_at = excluded.created_at
    returning created_at`;
  return (row as { created_at: string }).created_at;
}

/** When the account's ping key was made; undefined when it has none. */
export async function findPingKey(db: Db, accountId: string): Promise<string | undefined> {
  const [row] = await db<{ created_at: string }[]>`
    select created_at from heartbeats.ping_keys where account_id = ${accountId}`;
  return row?.created_at;
}

/** Ends the account's ping key; false when it has none. */
export async function deletePingKey(db: Db, accountId: string): Promise<boolean> {
  const rows = await db`delete from heartbeats.ping_keys where account_id = ${accountId} returning 1`;
  return rows.length > 0;
}

/** The accounts of ping keys; of one that nobody has there is no row. */
export async function ownersOf(
  db: Db,
  hashes: readonly Buffer[],
): Promise<{ account_id: string; key_hash: Buffer; may_run: boolean }[]> {
  return db`
    select k.account_id, k.key_hash, coalesce(a.may_run and not a.deleting, false) as may_run
    from heartbeats.ping_keys k left join accounts.standing_view a on a.id = k.account_id
    where k.key_hash = any(array(select decode(hash, 'hex')
      from unnest(${hashes.map((hash) => hash.toString('hex'))}::text[]) as hash))`;
}

/** Whether another monitor of the account than `id` has the slug. */
export async function isSlugTaken(db: Db, accountId: string, slug: string, id: string | null): Promise<boolean> {
  const rows = await db`
    select 1 from heartbeats.monitors
    where account_id = ${accountId} and slug = ${slug} and id is distinct from ${id}::uuid`;
  return rows.length > 0;
}

/** The subject of a badge: a monitor, or with null the whole account. */
export interface BadgeOf {
  accountId: string;
  monitorId: string | null;
}

/** Gives it a badge in place of the one that it has; undefined when the account has no such monitor. */
export async function replaceBadge(
  db: Db,
  time: Time,
  { accountId, monitorId }: BadgeOf,
  tokenHash: Buffer,
): Promise<string | undefined> {
  if (monitorId !== null) {
    // Held, so that it is not deleted before the badge is there.
    const known = await db`
      select 1 from heartbeats.monitors where id = ${monitorId} and account_id = ${accountId} for key share`;
    if (known.length === 0) return undefined;
  }
  const taken = monitorId === null ? db`(account_id) where monitor_id is null` : db`(monitor_id)`;
  const [row] = await db<{ created_at: string }[]>`
    insert into heartbeats.badges (account_id, monitor_id, token_hash, created_at)
    values (${accountId}, ${monitorId}, ${tokenHash}, date_trunc('milliseconds', ${nowOf(db, time)}))
    on conflict ${taken} do update set token_hash = excluded.token_hash, created_at = excluded.created_at
    returning created_at`;
  return row?.created_at;
}

/** Ends a badge; false when it does not exist. */
export async function deleteBadge(db: Db, { accountId, monitorId }: BadgeOf): Promise<boolean> {
  const rows = await db`
    delete from heartbeats.badges
    where account_id = ${accountId} and monitor_id is not distinct from ${monitorId}::uuid returning 1`;
  return rows.length > 0;
}

/** Badges of an account, newest first. */
export async function listAllBadges(
  db: Db,
  accountId: string,
  query: PageQuery,
): Promise<({ monitor_id: string | null; created_at: string } & PagedRow)[]> {
  return db`
    select id, monitor_id, created_at, created_at::text as page_at from heartbeats.badges
    where account_id = ${accountId} ${pageEnd(db, query, { at: db`created_at`, id: db`id` })}`;
}

/** Whose badge this is; undefined for a token that nobody has, and while the account may not run anything. */
export async function findBadge(db: Db, tokenHash: Buffer): Promise<(BadgeOf & { id: string }) | undefined> {
  const [row] = await db<(BadgeOf & { id: string })[]>`
    select b.id, b.account_id as "accountId", b.monitor_id as "monitorId" from heartbeats.badges b
    join accounts.standing_view a on a.id = b.account_id
    where b.token_hash = ${tokenHash} and a.may_run and not a.deleting`;
  return row;
}

/** The worst state of an account's monitors, as people see them; those that are new or paused say nothing. */
export async function worstStatus(db: Db, time: Time, accountId: string): Promise<MonitorState['status'] | 'late'> {
  const [row] = await db<{ down: boolean | null; late: boolean | null; up: boolean | null }[]>`
    select bool_or(status = 'down') as down, bool_or(status = 'up') as up,
      bool_or(status = 'up' and coalesce(expected_at, last_success_at + make_interval(secs => period_s))
        <= date_trunc('milliseconds', ${nowOf(db, time)})) as late
    from heartbeats.monitors where account_id = ${accountId}`;
  return row?.down ? 'down' : row?.late ? 'late' : row?.up ? 'up' : 'new';
}
