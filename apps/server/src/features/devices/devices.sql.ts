import type { Db } from '../../kernel/db/db.ts';
import { pagedStatement, type PagedRow } from '../../kernel/db/paging.ts';
import type { Quota } from '../../kernel/records/quotas.ts';

/** A device as it is listed. */
export interface DeviceRow {
  id: string;
  name: string;
  platform: string;
  created_at: string;
  last_seen: string;
}

/** Registers the device, or refreshes it; a name or platform that is not given stays. */
export async function upsertDevice(
  db: Db,
  accountId: string,
  device: { id: string; name?: string; platform?: string },
): Promise<void> {
  const { id, name = null, platform = null } = device;
  await db`
    insert into devices.devices as d (account_id, id, name, platform)
    values (${accountId}, ${id}, coalesce(${name}::text, 'Unnamed device'), coalesce(${platform}::text, ''))
    on conflict (account_id, id) do update set
      name = coalesce(${name}::text, d.name), platform = coalesce(${platform}::text, d.platform), last_seen = now()`;
}

/** Limit of the devices of an account. */
export const devicesQuota: Quota = {
  name: 'devices',
  remedy: 'delete a device that is not used any more',
  async count(db, accountId) {
    const [row] = await db<{ n: number }[]>`
      select count(*)::int as n from devices.devices where account_id = ${accountId}`;
    return row?.n ?? 0;
  },
};

/** Whether the account has the device. */
export async function hasDevice(db: Db, accountId: string, id: string): Promise<boolean> {
  return (await db`select 1 from devices.devices where account_id = ${accountId} and id = ${id}`).length > 0;
}

/** Deletes a device of the account; false when it does not exist. */
export async function deleteDevice(db: Db, accountId: string, id: string): Promise<boolean> {
  return (await db`delete from devices.devices where account_id = ${accountId} and id = ${id} returning 1`).length > 0;
}

/** Devices of an account, most recently seen first. */
export const listDevices = pagedStatement<DeviceRow & PagedRow>(
  `select id, name, platform, created_at, last_seen, last_seen::text as page_at from devices.devices
  where account_id = $1`,
  { at: 'last_seen', id: 'id' },
);

/** Those of the given devices that the account has. */
export async function findDevices(db: Db, accountId: string, ids: string[]): Promise<DeviceRow[]> {
  return db<DeviceRow[]>`
    select id, name, platform, created_at, last_seen from devices.devices
    where account_id = ${accountId} and id = any(${ids}::uuid[])`;
}

/** The key that serves as the device; undefined when none does. */
export async function findServingKey(db: Db, accountId: string, id: string): Promise<string | undefined> {
  const [row] = await db<{ served_by: string | null }[]>`
    select served_by from devices.devices where account_id = ${accountId} and id = ${id}`;
  return row?.served_by ?? undefined;
}

/** The key that serves as the device and is neither revoked nor expired; the device is locked for the transaction. */
export async function lockServingKey(db: Db, accountId: string, id: string): Promise<string | undefined> {
  const [row] = await db<{ served_by: string | null }[]>`
    select (select k.id from keys.live_view k where k.id = d.served_by and k.account_id = d.account_id) as served_by
    from devices.devices d where d.account_id = ${accountId} and d.id = ${id} for update of d`;
  return row?.served_by ?? undefined;
}

/**
 * Binds a device to a key; false when another key holds it that is neither revoked nor expired, unless `takesOver`, or when
 * there is no such device. A key that `isSole` holds one device: for a second one `devices_by_sole_key` is violated.
 */
export async function bindDevice(
  db: Db,
  {
    accountId,
    deviceId,
    keyId,
    takesOver,
    isSole,
  }: { accountId: string; deviceId: string; keyId: string; takesOver: boolean; isSole: boolean },
): Promise<boolean> {
  const rows = await db`
    update devices.devices d set served_by = ${keyId}, sole_key = ${isSole ? keyId : null}
    where d.account_id = ${accountId} and d.id = ${deviceId}
      and (d.served_by is null or d.served_by = ${keyId} or ${takesOver}
        or not exists (select 1 from keys.live_view k where k.id = d.served_by and k.account_id = d.account_id))
    returning 1`;
  return rows.length > 0;
}

/**
 * Gives a device that a key serves as to another account, with the key. One that has a device of this id keeps its own;
 * the key is free then.
 */
export async function moveDevice(
  db: Db,
  { from, to, id, keyId }: { from: string; to: string; id: string; keyId: string },
): Promise<void> {
  await db`
    with gone as (
      delete from devices.devices where account_id = ${from} and id = ${id} and served_by = ${keyId} returning *)
    insert into devices.devices (account_id, id, name, platform, created_at, last_seen, served_by, sole_key, listened_at)
    select ${to}::uuid, id, name, platform, created_at, last_seen, served_by, sole_key, listened_at from gone
    on conflict (account_id, id) do nothing`;
}

/** Notes that a device listens for what it is asked to do. */
export async function noteListens(db: Db, accountId: string, id: string): Promise<void> {
  await db`update devices.devices set listened_at = now() where account_id = ${accountId} and id = ${id}`;
}

/** The device of one of these platforms that listens, the one seen last; undefined: none does. */
export async function findListening(
  db: Db,
  accountId: string,
  platforms: readonly string[],
): Promise<string | undefined> {
  const [row] = await db<{ id: string }[]>`
    select id from devices.devices d
    where account_id = ${accountId} and lower(platform) = any(${[...platforms]}::text[]) and listened_at is not null
      and exists (select from kernel.device_streams_view s where s.account_id = d.account_id and s.device_id = d.id)
    order by last_seen desc, id limit 1`;
  return row?.id;
}

/** The device of one of these platforms that was seen last, of those first that ever listened; undefined: there is none. */
export async function findFreshest(
  db: Db,
  accountId: string,
  platforms: readonly string[],
): Promise<string | undefined> {
  const [row] = await db<{ id: string }[]>`
    select id from devices.devices
    where account_id = ${accountId} and lower(platform) = any(${[...platforms]}::text[])
    order by listened_at is null, last_seen desc, id limit 1`;
  return row?.id;
}
