import { type Db, type Fragment, nowOf, type Time } from '../../kernel/db/db.ts';
import { pageEnd, type PagedRow, type PageQuery } from '../../kernel/db/paging.ts';

/** A machine as the views of its features tell of it. */
export interface ListedMachine extends PagedRow {
  name: string;
  platform: string;
  os: string | null;
  hostname: string | null;
  online: boolean;
  last_seen: string;
  roots: string[] | null;
  tags: string[] | null;
  kinds: string[] | null;
  is_host: boolean;
  paused: boolean | null;
  max_parallel: number | null;
  running: number;
  approvals_waiting: number;
  environment_id: string | null;
}

/** Which machines are asked for. */
interface MachineFilter {
  q?: string | undefined;
  online?: boolean | undefined;
  tag?: string | undefined;
}

/** A device that serves as something. */
const isMachine = (db: Db): Fragment =>
  db`(p.device_id is not null or h.device_id is not null or e.id is not null or d.served_by is not null)`;

const isOnline = (db: Db, time: Time): Fragment => db`(p.device_id is not null
  or coalesce(h.last_seen > ${nowOf(db, time)} - interval '45 s', false)
  or exists (select from relay.presence_view r where r.account_id = d.account_id and r.device_id = d.id))`;

/**
 * Commands that may come to a machine `h` that takes them, and that it has not approved. A target that is away hands over to the
 * sets of its failover.
 */
const waiting = (db: Db): Fragment => db`
  from schedules.shells_view s
  where s.account_id = h.account_id and 'shell' = any(h.kinds)
    and (s.target_type = 'any' or (s.target_type = 'host' and s.device_id = h.device_id)
      or (s.target_type = 'tags' and h.tags @> array(select json_array_elements_text(s.tags)))
      or (s.target_type = 'cloud_vm' and exists (select from environments.machines_view m
        where m.account_id = h.account_id and m.device_id = h.device_id and m.project_id = s.project_id))
      or exists (select from json_array_elements(s.failover) f where h.tags @> array(select json_array_elements_text(f))))
    and not exists (select from schedules.approval_view a
      where a.schedule_id = s.id and a.device_id = h.device_id and a.command_hash = s.command_hash)`;

const columns = (db: Db, time: Time): Fragment => db`
  d.id, coalesce(h.name, d.name) as name, d.platform, p.os, p.hostname, ${isOnline(db, time)} as online,
  greatest(d.last_seen, h.last_seen, p.last_seen) as last_seen, p.roots, h.tags, h.kinds, p.device_id is not null as is_host,
  h.paused, h.max_parallel, e.id as environment_id, d.created_at::text as page_at,
  (select count(*)::int from scheduler.holders_view r where r.account_id = d.account_id and r.device_id = d.id) as running,
  (select count(*)::int ${waiting(db)}) as approvals_waiting`;

const machines = (db: Db): Fragment => db`
  from devices.devices_view d
    left join hosts.presence_view p on p.account_id = d.account_id and p.device_id = d.id
    left join scheduler.hosts_view h on h.account_id = d.account_id and h.device_id = d.id
    left join lateral (select m.id from environments.machines_view m
      where m.account_id = d.account_id and m.device_id = d.id order by m.id limit 1) e on true`;

/** Machines of an account, newest first. */
export async function listMachines(
  db: Db,
  time: Time,
  accountId: string,
  { q, online, tag, ...page }: MachineFilter & PageQuery,
): Promise<ListedMachine[]> {
  const part = q === undefined ? '' : `%${q.replace(/[\\%_]/g, '\\$&')}%`;
  return db<ListedMachine[]>`
    select ${columns(db, time)} ${machines(db)}
    where d.account_id = ${accountId} and ${isMachine(db)}
      ${q === undefined ? db`` : db`and (coalesce(h.name, d.name) ilike ${part} or p.hostname ilike ${part})`}
      ${online === undefined ? db`` : db`and ${isOnline(db, time)} = ${online}`}
      ${tag === undefined ? db`` : db`and ${tag} = any(h.tags)`}
      ${pageEnd(db, page, { at: db`d.created_at`, id: db`d.id` })}`;
}

/** One machine of an account. */
export async function findMachine(
  db: Db,
  time: Time,
  accountId: string,
  deviceId: string,
): Promise<ListedMachine | undefined> {
  const [row] = await db<ListedMachine[]>`
    select ${columns(db, time)} ${machines(db)}
    where d.account_id = ${accountId} and d.id = ${deviceId} and ${isMachine(db)}`;
  return row;
}

/** A command that waits for a machine's approval. */
interface WaitingRow extends PagedRow {
  name: string;
  command: string;
  command_hash: string;
  since: string;
}

/** Commands that wait for approval on a machine, newest schedule first. */
export async function listWaiting(db: Db, accountId: string, deviceId: string, page: PageQuery): Promise<WaitingRow[]> {
  return db<WaitingRow[]>`
    select w.* from scheduler.hosts_view h
      cross join lateral (select s.id, s.name, s.command, s.command_hash, s.updated_at as since, s.created_at,
        s.created_at::text as page_at ${waiting(db)}) w
    where h.account_id = ${accountId} and h.device_id = ${deviceId}
      ${pageEnd(db, page, { at: db`w.created_at`, id: db`w.id` })}`;
}

/** Machines of an account that are there, and that are away. */
export async function countMachines(db: Db, time: Time, accountId: string): Promise<{ online: number; away: number }> {
  const [row] = await db<{ online: number; away: number }[]>`
    select (count(*) filter (where online))::int as online, (count(*) filter (where not online))::int as away
    from (select ${isOnline(db, time)} as online ${machines(db)} where d.account_id = ${accountId} and ${isMachine(db)}) m`;
  return row ?? { online: 0, away: 0 };
}

/** Machines of an account whose name holds a text of LIKE, those that match another one first. */
export async function findMachines(
  db: Db,
  accountId: string,
  { pattern, prefix, most }: { pattern: string; prefix: string; most: number },
): Promise<{ id: string; title: string }[]> {
  return db<{ id: string; title: string }[]>`
    select d.id, coalesce(h.name, d.name) as title ${machines(db)}
    where d.account_id = ${accountId} and ${isMachine(db)} and coalesce(h.name, d.name) ilike ${pattern}
    order by (coalesce(h.name, d.name) ilike ${prefix}) desc, title, d.id limit ${most}`;
}
