import type { Clock } from '../../../kernel/base/clock.ts';
import type { Db } from '../../../kernel/db/db.ts';
import { statement } from '../../../kernel/db/statement.ts';
import { pageEnd, type PagedRow, type PageQuery } from '../../../kernel/db/paging.ts';
import { runStates } from '../scheduler.states.ts';

/** A machine that claims. */
export interface HostRow {
  id: string;
  device_id: string;
  /** Set by a person; null: the device's name. */
  name: string | null;
  tags: string[];
  kinds: string[];
  paused: boolean;
  max_parallel: number | null;
  last_seen: string;
  online: boolean;
  running: number;
}

/** A machine's report about itself when it claims. */
export interface HostReport {
  accountId: string;
  deviceId: string;
  kinds: string[];
  /** Undefined: the tags of the last report stay. */
  tags: string[] | undefined;
}

/** The facts of a machine that a claim needs. */
export interface Claimer {
  id: string;
  tags: string[];
  paused: boolean;
  max_parallel: number | null;
}

/**
 * Notes that the machine is there, and says what time it is. A row that says the same and is younger than 5 s is read, not written: a claim a
 * second from each of many machines would otherwise write as often.
 */
export async function seeHost(
  db: Db,
  report: HostReport,
  clock: Pick<Clock, 'instant'>,
): Promise<Claimer & { now: string }> {
  const { accountId, deviceId, kinds, tags = null } = report;
  const [known] = await findHostAndNow(db, accountId, deviceId, kinds, tags, clock.instant());
  const { now, fresh, ...claimer } = known as Claimer & { now: string; fresh: boolean | null };
  if (fresh) return { now, ...claimer };
  const [row] = await db<Claimer[]>`
    insert into scheduler.hosts as h (account_id, device_id, kinds, reported_tags, last_seen)
    values (${accountId}, ${deviceId}, ${kinds}, coalesce(${tags}::text[], '{}'), ${now})
    on conflict (account_id, device_id) do update set
      kinds = excluded.kinds, reported_tags = coalesce(${tags}::text[], h.reported_tags),
      last_seen = greatest(h.last_seen, excluded.last_seen)
    returning id, coalesce(tags, reported_tags) as tags, paused, max_parallel`;
  return { now, ...(row as Claimer) };
}
/** One row whether the machine is known or not: a claim asks for the time anyway. */
const findHostAndNow = statement<Partial<Claimer> & { now: string; fresh: boolean | null }>(`
  select n.now, h.id, coalesce(h.tags, h.reported_tags) as tags, h.paused, h.max_parallel,
    h.last_seen > n.now - interval '5 s' and h.kinds = $3::text[]
      and h.reported_tags = coalesce($4::text[], h.reported_tags) as fresh
  from (select coalesce($5::timestamptz, now()) as now) n
    left join scheduler.hosts h on h.account_id = $1 and h.device_id = $2`);

/** Notes that a machine with a run is there. */
export async function touchHost(db: Db, accountId: string, deviceId: string, now: string): Promise<void> {
  await db`
    update scheduler.hosts set last_seen = ${now}
    where account_id = ${accountId} and device_id = ${deviceId}
      and last_seen < ${now}::timestamptz - interval '5 s'`;
}

/** Locks the machine's row and counts what it runs; claims of a machine with a limit go one after the other. */
export async function countRunning(db: Db, hostId: string, deviceId: string): Promise<number> {
  await db`select 1 from scheduler.hosts where id = ${hostId} for update`;
  const [row] = await db<{ running: number }[]>`
    select count(*)::int as running from scheduler.runs r join scheduler.hosts h on h.account_id = r.account_id
    where h.id = ${hostId} and r.holder_id = ${deviceId} and r.state = 'running'`;
  return row?.running ?? 0;
}

const hostColumns = (db: Db, now: string) => db`
  h.id, h.device_id, h.name, coalesce(h.tags, h.reported_tags) as tags, h.kinds, h.paused, h.max_parallel, h.last_seen,
  h.last_seen > ${now}::timestamptz - interval '45 s' as online,
  (select count(*)::int from scheduler.runs r
    where r.holder_id = h.device_id and r.account_id = h.account_id and r.state = 'running') as running`;

/** Machines of an account, most recently seen first. */
export async function listHosts(
  db: Db,
  accountId: string,
  now: string,
  page: PageQuery,
): Promise<(HostRow & PagedRow)[]> {
  return db<(HostRow & PagedRow)[]>`
    select ${hostColumns(db, now)}, h.last_seen::text as page_at from scheduler.hosts h
    where h.account_id = ${accountId} ${pageEnd(db, page, { at: db`h.last_seen`, id: db`h.id` })}`;
}

/** A machine of an account. */
export async function findHost(db: Db, accountId: string, id: string, now: string): Promise<HostRow | undefined> {
  const [row] = await db<HostRow[]>`
    select ${hostColumns(db, now)} from scheduler.hosts h where h.id = ${id} and h.account_id = ${accountId}`;
  return row;
}

/** Changes what a person says of a machine, by its id or its device's; undefined when the account has no such machine. */
export async function updateHostRow(
  db: Db,
  accountId: string,
  { id, deviceId }: { id?: string; deviceId?: string },
  change: { name?: string; tags?: string[]; paused?: boolean; max_parallel?: number | null },
  now: string,
): Promise<HostRow | undefined> {
  const [row] = await db<HostRow[]>`
    update scheduler.hosts h set ${db(change)} where h.account_id = ${accountId}
      and (h.id = ${id ?? null}::uuid or h.device_id = ${deviceId ?? null}::uuid)
    returning ${hostColumns(db, now)}`;
  return row;
}

/** Forgets machines that were not seen for 90 days. */
export async function sweepHosts(db: Db, now: string): Promise<void> {
  await db`delete from scheduler.hosts where last_seen < ${now}::timestamptz - interval '90 days'`;
}

/** Offers a machine once more what it handed back. */
export async function askAgain(db: Db, accountId: string, deviceId: string): Promise<void> {
  await db`
    update scheduler.runs set refused_by = array_remove(refused_by, ${deviceId}::uuid)
    where account_id = ${accountId} and state = 'pending' and pool = 'host' and ${deviceId} = any(refused_by)`;
}

/** Offers the waiting runs of a schedule to every machine once more: they are other work now. */
export async function forgetRefusals(db: Db, scheduleId: string): Promise<void> {
  await db`
    update scheduler.runs set refused_by = '{}'
    where schedule_id = ${scheduleId} and state in ${runStates.sql('waiting')(db)} and refused_by <> '{}'`;
}

/** Deletes a machine of the account, by its id or its device's; answers its device, undefined when no machine matches. */
export async function deleteHost(
  db: Db,
  accountId: string,
  { id, deviceId }: { id?: string; deviceId?: string },
): Promise<string | undefined> {
  const [row] = await db<{ device_id: string }[]>`
    delete from scheduler.hosts
    where account_id = ${accountId} and (id = ${id ?? null}::uuid or device_id = ${deviceId ?? null}::uuid)
    returning device_id`;
  return row?.device_id;
}
