import type { Clock } from '../../kernel/clock.ts';
import { type Db, nowOf } from '../../kernel/db/db.ts';

type Time = Pick<Clock, 'instant'>;

/** Gives the account a ping key; the one that it had is none any more. */
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
