import type { Db, Time } from '../../../kernel/db/db.ts';
import { pageEnd, type PagedRow, type PageQuery } from '../../../kernel/db/paging.ts';
import type { ShownStatus } from '../heartbeats.rules.ts';
import { columns, type MonitorRow, nowMs } from '../heartbeats.sql.ts';

/** Which monitors of an account are meant. */
interface MonitorFilter {
  /** Part of the name, in any case. */
  q?: string | undefined;
  status?: readonly ShownStatus[] | undefined;
  tag?: string | undefined;
}

/** The order of `trouble`. */
const byTrouble: readonly ShownStatus[] = ['down', 'late', 'new', 'up', 'paused'];

/** The status as people see it at an instant; as `shownStatus` says it. */
const shownAt = (db: Db, at: ReturnType<typeof nowMs>) => db`
  case when status = 'up' and coalesce(expected_at, last_success_at + make_interval(secs => period_s)) <= ${at}
    then 'late' else status end`;

const isMeant = (db: Db, accountId: string, { q, status, tag }: MonitorFilter, at: ReturnType<typeof nowMs>) => db`
  account_id = ${accountId} ${q === undefined ? db`` : db`and position(lower(${q}) in lower(name)) > 0`}
    ${status === undefined ? db`` : db`and ${shownAt(db, at)} = any(${[...status]}::text[])`}
    ${tag === undefined ? db`` : db`and ${tag} = any(tags)`}`;

/** Monitors of an account, newest first. */
export async function listMonitors(
  db: Db,
  time: Time,
  accountId: string,
  query: MonitorFilter & PageQuery,
): Promise<(MonitorRow & PagedRow)[]> {
  return db<(MonitorRow & PagedRow)[]>`
    select ${columns(db, time)}, created_at::text as page_at from heartbeats.monitors
    where ${isMeant(db, accountId, query, nowMs(db, time))} ${pageEnd(db, query, { at: db`created_at`, id: db`id` })}`;
}

/** The last row of a page of a sorted list, and the instant of the first page. */
export interface SortedCursor {
  at: string;
  rank: number;
  name: string;
  id: string;
}

/** A monitor with its place in an order other than that of its creation. */
export interface SortedRow extends MonitorRow {
  /** Zero in the order by name. */
  rank: number;
  sort_name: string;
}

/**
 * Monitors of an account by name, or by trouble and then name: one more than asked for, when there is one. All pages are
 * those of the instant of the first one, so that what becomes late meanwhile is neither missed nor met twice.
 */
export async function listSorted(
  db: Db,
  time: Time,
  accountId: string,
  {
    sort,
    limit,
    after,
    ...filter
  }: MonitorFilter & {
    sort: 'trouble' | 'name';
    limit: number;
    after: SortedCursor | undefined;
  },
): Promise<SortedRow[]> {
  const at = after ? db`${after.at}::timestamptz` : nowMs(db, time);
  const rank = sort === 'name' ? db`0` : db`array_position(${[...byTrouble]}::text[], ${shownAt(db, at)})`;
  const isLater = after
    ? db`and (${rank}, lower(name), id) > (${after.rank}::int, ${after.name}::text, ${after.id}::uuid)`
    : db``;
  return db<SortedRow[]>`
    select ${columns(db, time)}, ${rank} as rank, lower(name) as sort_name from heartbeats.monitors
    where ${isMeant(db, accountId, filter, at)} ${isLater}
    order by rank, sort_name, id limit ${limit + 1}`;
}

/** A ping or a flip of a monitor. */
export interface MonitorLogRow {
  at: string;
  /** 0: a ping; 1: a flip. */
  sort: number;
  seq: number;
  kind: 'success' | 'start' | 'fail' | 'log' | 'exit' | null;
  exit_code: number | null;
  rid: string | null;
  body: Buffer | null;
  count: number | null;
  was: ShownStatus | null;
  became: ShownStatus | null;
}

/** Pings and flips of a monitor, newest first: one more than asked for, when there is one. Of one instant flips come first. */
export async function listLog(
  db: Db,
  id: string,
  { limit, after }: { limit: number; after: Pick<MonitorLogRow, 'at' | 'sort' | 'seq'> | undefined },
): Promise<MonitorLogRow[]> {
  const isOlder = after
    ? db`where (at, sort, seq) < (${after.at}::timestamptz, ${after.sort}::int, ${after.seq}::bigint)`
    : db``;
  return db<MonitorLogRow[]>`
    select * from (
      select at, 0 as sort, seq, kind, exit_code, rid, body, count, null as was, null as became
      from heartbeats.pings where monitor_id = ${id}
      union all
      select at, 1, seq, null, null, null, null, null, was, became
      from heartbeats.flips where monitor_id = ${id}
    ) as logged ${isOlder} order by at desc, sort desc, seq desc limit ${limit + 1}`;
}
