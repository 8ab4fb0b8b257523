import type { Db } from '../../kernel/db/db.ts';

/** A present host. */
export interface PresenceRow {
  device_id: string;
  gateway_id: string;
  os: string;
  hostname: string;
  roots: string[];
  since: string;
  last_seen: string;
  /** Its daemon does commands by itself. */
  detached: boolean;
}

/** Presence outlives the last heartbeat by this (document 1, Limits). */
const presenceSeconds = 45;

/** Takes the device's presence over with a new epoch, and names the gateway that had it. */
export async function takePresence(
  db: Db,
  host: {
    accountId: string;
    deviceId: string;
    gatewayId: string;
    os: string;
    hostname: string;
    roots: string[];
    detached: boolean;
  },
): Promise<{ epoch: number; since: string; previousGatewayId: string | null }> {
  const [row] = await db<{ epoch: number; since: string; previous: string | null }[]>`
    with previous as (
      select gateway_id from hosts.presence where account_id = ${host.accountId} and device_id = ${host.deviceId}
    )
    insert into hosts.presence (account_id, device_id, gateway_id, os, hostname, roots, detached, expires_at)
    values (${host.accountId}, ${host.deviceId}, ${host.gatewayId}, ${host.os}, ${host.hostname}, ${host.roots},
      ${host.detached}, now() + make_interval(secs => ${presenceSeconds}))
    on conflict (account_id, device_id) do update set
      epoch = nextval('hosts.presence_epoch'), gateway_id = excluded.gateway_id, os = excluded.os,
      hostname = excluded.hostname, roots = excluded.roots, detached = excluded.detached, since = now(), last_seen = now(),
      expires_at = excluded.expires_at
    returning epoch, since, (select gateway_id from previous) as previous`;
  if (!row) throw new Error('presence was not stored');
  return { epoch: row.epoch, since: row.since, previousGatewayId: row.previous };
}

/** Renews the presence of streams by epoch; answers the epochs that still hold. */
export async function renewPresence(db: Db, epochs: number[]): Promise<Set<number>> {
  const rows = await db<{ epoch: number }[]>`
    update hosts.presence set last_seen = now(), expires_at = now() + make_interval(secs => ${presenceSeconds})
    where epoch = any(${epochs}::bigint[])
    returning epoch`;
  return new Set(rows.map((row) => row.epoch));
}

/** Ends the presence of one stream; false when a newer one of the device is there, which is not touched. */
export async function dropPresence(db: Db, accountId: string, deviceId: string, epoch: number): Promise<boolean> {
  const { count } = await db`
    delete from hosts.presence where account_id = ${accountId} and device_id = ${deviceId} and epoch = ${epoch}`;
  return count > 0;
}

/** Ends presences that were renewed last a minute ago: their gateway died, and nobody else ends them. */
export async function dropExpired(db: Db): Promise<{ account_id: string; device_id: string }[]> {
  return db<{ account_id: string; device_id: string }[]>`
    delete from hosts.presence where expires_at < now() - interval '15 seconds' returning account_id, device_id`;
}

const columns = (db: Db) => db`device_id, gateway_id, os, hostname, roots, since, last_seen, detached`;

/** A host of an account, if it is present now. */
export async function findPresent(db: Db, accountId: string, deviceId: string): Promise<PresenceRow | undefined> {
  const [row] = await db<PresenceRow[]>`
    select ${columns(db)} from hosts.presence
    where account_id = ${accountId} and device_id = ${deviceId} and expires_at > now()`;
  return row;
}

const mostListed = 1_000;

/** Hosts of an account that are present now, longest present first, 1,000 at most. */
export async function listPresent(db: Db, accountId: string): Promise<PresenceRow[]> {
  return db<PresenceRow[]>`
    select ${columns(db)} from hosts.presence
    where account_id = ${accountId} and expires_at > now() order by since, device_id limit ${mostListed}`;
}

/** The gateway that holds the device's stream, if it is present. */
export async function findCarrier(db: Db, accountId: string, deviceId: string): Promise<string | undefined> {
  const [row] = await db<{ gateway_id: string }[]>`
    select gateway_id from hosts.presence
    where account_id = ${accountId} and device_id = ${deviceId} and expires_at > now()`;
  return row?.gateway_id;
}

/** A call that another gateway may have to know of. */
interface CallRow {
  reqId: string;
  accountId: string;
  deviceId: string;
  originId: string;
  carrierId: string;
  /** JSON; null when this gateway writes it to the host itself. */
  frame: string | null;
  /** How long a result may still come. */
  lifetimeMs: number;
}

/** Stores a call. */
export async function insertCall(db: Db, call: CallRow): Promise<void> {
  await db`
    insert into hosts.calls (req_id, account_id, device_id, origin_id, carrier_id, frame, expires_at)
    values (${call.reqId}, ${call.accountId}, ${call.deviceId}, ${call.originId}, ${call.carrierId}, ${call.frame},
      now() + make_interval(secs => ${call.lifetimeMs / 1000}))`;
}

/** Takes a call's frame to write it to the host; undefined when it was taken before. */
export async function takeFrame(db: Db, reqId: string, carrierId: string) {
  const [row] = await db<{ account_id: string; device_id: string; origin_id: string; frame: string }[]>`
    with taken as (
      select req_id, frame from hosts.calls
      where req_id = ${reqId} and carrier_id = ${carrierId} and frame is not null for update
    )
    update hosts.calls c set frame = null from taken t where c.req_id = t.req_id
    returning c.account_id, c.device_id, c.origin_id, t.frame`;
  return row;
}

/**
 * Stores the first result of a call. Answers the gateway that waits for it; `late` when there was a result already;
 * undefined when this device has no such call.
 */
export async function storeResult(
  db: Db,
  call: { reqId: string; accountId: string; deviceId: string },
  result: string,
): Promise<{ originId: string; late: boolean } | undefined> {
  const [row] = await db<{ origin_id: string }[]>`
    update hosts.calls set result = ${result}
    where req_id = ${call.reqId} and account_id = ${call.accountId} and device_id = ${call.deviceId} and result is null
    returning origin_id`;
  if (row) return { originId: row.origin_id, late: false };
  const [known] = await db<{ origin_id: string }[]>`
    select origin_id from hosts.calls
    where req_id = ${call.reqId} and account_id = ${call.accountId} and device_id = ${call.deviceId}`;
  return known && { originId: known.origin_id, late: true };
}

/** The stored result of a call. */
export async function readResult(db: Db, reqId: string): Promise<string | undefined> {
  const [row] = await db<{ result: string | null }[]>`select result from hosts.calls where req_id = ${reqId}`;
  return row?.result ?? undefined;
}

/** Forgets who is connected, and what they were asked. */
export async function dropAllConnections(db: Db): Promise<void> {
  await db`delete from hosts.calls`;
  await db`delete from hosts.presence`;
}

/** Those of these calls whose result is stored. */
export async function findAnswered(db: Db, reqIds: readonly string[]): Promise<string[]> {
  const rows = await db<{ req_id: string }[]>`
    select req_id from hosts.calls where req_id = any(${[...reqIds]}::uuid[]) and result is not null`;
  return rows.map(({ req_id: reqId }) => reqId);
}

/** Deletes calls that nobody may answer any more, and presence long past. */
export async function sweep(db: Db): Promise<void> {
  await db`delete from hosts.calls where expires_at < now()`;
}
