import type { RelayReport } from '@svc/contract';
import type { Db } from '../../kernel/db/db.ts';
import type { EnvironmentRole } from '../environments/index.ts';

/** The daemon of an environment, as the relay that has it says. */
export interface DaemonRow {
  environment_id: string;
  instance_id: string;
  peer_url: string;
  epoch: string;
  /** Its lease is alive, and the process that has it. */
  is_online: boolean;
  is_usable: boolean;
  reported_at: string | null;
  usable_since: string | null;
  report: RelayReport | null;
}

/** A client, as the relay that has it says. */
export interface AttachedRow {
  client_id: string;
  account_id: string;
  device_id: string | null;
  name: string | null;
  platform: string | null;
  role: EnvironmentRole | null;
  kind: 'port' | 'terminal';
  streams: number;
  attached_at: string;
}

/** Takes the presence of an environment's daemon; answers its number, and which process had it before. */
export async function takePresence(
  db: Db,
  one: { environmentId: string; accountId: string; deviceId: string; instanceId: string; peerUrl: string },
): Promise<{ epoch: string; before: string | null }> {
  const [row] = await db<{ epoch: string; before: string | null }[]>`
    with old as (select instance_id from relay.presence where environment_id = ${one.environmentId}),
    taken as (
      insert into relay.presence as p (environment_id, account_id, device_id, instance_id, peer_url, epoch)
      values (${one.environmentId}, ${one.accountId}, ${one.deviceId}, ${one.instanceId}, ${one.peerUrl},
        nextval('relay.epochs'))
      on conflict (environment_id) do update set account_id = excluded.account_id, device_id = excluded.device_id,
        instance_id = excluded.instance_id, peer_url = excluded.peer_url, epoch = excluded.epoch, lease_until = null,
        usable_at = null, usable_since = null
      where p.epoch < excluded.epoch
      returning p.epoch)
    select taken.epoch::text as epoch, (select instance_id from old) as before from taken`;
  if (!row) throw new Error('a presence that is newer than a new one');
  return row;
}

/** Writes a report; false when another connection of the machine is the newer one. */
export async function writeReport(
  db: Db,
  one: { environmentId: string; epoch: string; report: RelayReport; leaseSeconds: number },
): Promise<boolean> {
  const { count } = await db`
    with quick as materialized (select set_config('synchronous_commit', 'off', true))
    update relay.presence set report = ${JSON.stringify(one.report)}::text::jsonb, reported_at = now(),
      lease_until = now() + make_interval(secs => ${one.leaseSeconds})
    from quick where environment_id = ${one.environmentId} and epoch = ${one.epoch}::bigint`;
  return count === 1;
}

/** Says that commands ran on these machines just now. */
export async function writeUsable(db: Db, epochs: readonly string[], forSeconds: number): Promise<void> {
  await db`
    update relay.presence set usable_at = now(),
      usable_since = case when usable_at > now() - make_interval(secs => ${forSeconds}) then usable_since else now() end
    where epoch = any(${[...epochs]}::bigint[])`;
}

/** Says that no command ran on these machines. */
export async function dropUsable(db: Db, epochs: readonly string[]): Promise<void> {
  await db`update relay.presence set usable_at = null, usable_since = null where epoch = any(${[...epochs]}::bigint[])`;
}

/** The daemon of an environment; undefined when none ever came. */
export async function findPresence(
  db: Db,
  environmentId: string,
  usableSeconds: number,
): Promise<DaemonRow | undefined> {
  const [row] = await db<DaemonRow[]>`
    select p.environment_id, p.instance_id, p.peer_url, p.epoch::text as epoch, p.reported_at, p.report, p.usable_since,
      coalesce(p.lease_until > now(), false) and g.id is not null as is_online,
      coalesce(p.usable_at > now() - make_interval(secs => ${usableSeconds}), false) as is_usable
    from relay.presence p left join kernel.live_gateways_view g on g.id = p.instance_id
    where p.environment_id = ${environmentId}`;
  return row;
}

/** The connection of a daemon is over: its last report stays. */
export async function endPresence(db: Db, environmentId: string, epoch: string): Promise<void> {
  await db`
    update relay.presence set lease_until = null, usable_at = null, usable_since = null
    where environment_id = ${environmentId} and epoch = ${epoch}::bigint`;
}

/** Keeps a client with its first connection; answers its id. */
export async function insertAttached(
  db: Db,
  one: {
    environmentId: string;
    accountId: string;
    instanceId: string;
    clientId: string;
    deviceId: string | undefined;
    role: EnvironmentRole | null;
    kind: 'port' | 'terminal';
  },
): Promise<string> {
  const [row] = await db<{ id: string }[]>`
    insert into relay.attached (environment_id, account_id, instance_id, client_id, device_id, role, kind, streams, attached_at)
    values (${one.environmentId}, ${one.accountId}, ${one.instanceId}, ${one.clientId}, ${one.deviceId ?? null}, ${one.role},
      ${one.kind}, 1, now())
    returning id`;
  return row?.id ?? '';
}

/** Says how many connections these clients have now. */
export async function writeStreams(db: Db, all: readonly { id: string; streams: number }[]): Promise<void> {
  await db`
    update relay.attached a set streams = n.streams
    from json_to_recordset(${JSON.stringify(all)}::json) as n(id uuid, streams int)
    where a.id = n.id and a.streams <> n.streams`;
}

/** Forgets clients that left. */
export async function deleteAttached(db: Db, ids: readonly string[]): Promise<void> {
  await db`delete from relay.attached where id = any(${[...ids]}::uuid[])`;
}

/** Clients of an environment at relays that live, the first that came first. */
export async function attachedTo(db: Db, environmentId: string): Promise<AttachedRow[]> {
  return db<AttachedRow[]>`
    select a.client_id, a.account_id, a.device_id, d.name, d.platform, a.role, a.kind, a.streams, a.attached_at
    from relay.attached a join kernel.live_gateways_view g on g.id = a.instance_id
    left join devices.devices_view d on d.account_id = a.account_id and d.id = a.device_id
    where a.environment_id = ${environmentId} order by a.attached_at, a.id limit 1000`;
}

/** Forgets what processes left that are gone, and machines of environments that are gone. */
export async function sweepRelay(db: Db): Promise<void> {
  await db`delete from relay.attached where instance_id not in (select id from kernel.live_gateways_view)`;
  await db`
    delete from relay.presence p
    where not exists (select from environments.environments_view e where e.id = p.environment_id and e.state <> 'destroyed')`;
}
