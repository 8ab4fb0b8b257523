import type { Db } from '../db/db.ts';
import { partsOf, type Position, positionOf } from './feed.cursor.ts';

/** What happened to something of an account. */
export interface Change {
  accountId: string;
  /** The feature whose record it is. */
  topic: string;
  op: 'created' | 'updated' | 'deleted';
  /** Id of the record. */
  id: string;
  /** The record as the API shows it. Over 8,000 bytes it is left out: clients fetch it. */
  record?: object | undefined;
}

/** A change as it was read. */
export interface StoredChange extends Pick<Change, 'accountId' | 'topic' | 'op' | 'id'> {
  position: Position;
  at: string;
  /** JSON text. */
  record: string | undefined;
}

const longestRecord = 8_000;

/** Writes changes, in their order. */
export async function insertChanges(db: Db, changes: readonly Change[]): Promise<void> {
  const rows = changes.map(({ accountId, topic, op, id, record }) => {
    const text = record && JSON.stringify(record);
    // As text: on the way through a record its escapes would be undone, which NUL does not survive.
    return { accountId, topic, op, id, record: text && Buffer.byteLength(text) <= longestRecord ? text : null };
  });
  await db`
    insert into kernel.changes (account_id, topic, op, subject, body)
    select "accountId", topic, op, id, record::json
    from json_to_recordset(${JSON.stringify(rows)}::text::json)
      as given ("accountId" uuid, topic text, op text, id text, record text)`;
}

/**
 * A part of a statement that writes a change for each of `rows` (columns account_id, topic, op, id and record): for hot
 * writes of one statement, which would else need a transaction.
 */
export const recording = (rows: string): string => `
  insert into kernel.changes (account_id, topic, op, subject, body)
  select account_id, topic, op, id::text, record from ${rows}`;

/** The changes of an account that are kept: after `floor`, up to `last`; undefined where there is none. */
export async function findEnds(db: Db, accountId: string): Promise<{ floor?: Position; last?: Position }> {
  const [row] = await db<{ floor_xid: string | null; floor: number; last_xid: string | null; last: number }[]>`
    select f.xid::text as floor_xid, f.seq as floor, l.xid::text as last_xid, l.seq as last
    from (select) as one
    left join kernel.change_floors f on f.account_id = ${accountId}
    left join lateral (
      select xid, seq from kernel.changes
      where account_id = ${accountId} and xid < (select kernel.feed_horizon())
      order by xid desc, seq desc limit 1) l on true`;
  if (!row) return {};
  return {
    ...(row.floor_xid !== null && { floor: positionOf(row.floor_xid, row.floor) }),
    ...(row.last_xid !== null && { last: positionOf(row.last_xid, row.last) }),
  };
}

/** Where to go on reading an account. */
interface Wanted {
  accountId: string;
  after: Position;
}

/** The next changes of an account. */
export interface Page {
  changes: StoredChange[];
  /** The last change that was looked at, whether it was asked for or not: where to go on; undefined: there is none. */
  end: Position | undefined;
  /** There are more that can be read now. */
  isFull: boolean;
  /** There are more that wait until transactions before them are over. */
  isHeld: boolean;
  /** The place to go on from is not kept any more: changes are missing. */
  isCut: boolean;
}

/** What to read of each account. */
export interface Reading {
  /** Of all topics when it is left out. */
  topics?: ReadonlySet<string> | undefined;
  /** Changes in a page. */
  most: number;
  /** Changes that are looked at for them; as many as `most` when it is left out. */
  lookAt?: number | undefined;
}

/** Bytes of records in a page; its first change counts whatever its length. */
const pageBytes = 256 * 1024;

interface PageRow extends Omit<StoredChange, 'position'> {
  xid: string;
  seq: number;
  settled: boolean;
  fits: boolean;
  asked: boolean;
  isLast: boolean;
  cut: boolean;
}

/** Reads the next changes of several accounts; what is missing in the answer has none. */
export async function readChanges(
  db: Db,
  wanted: readonly Wanted[],
  { topics, most, lookAt = most }: Reading,
): Promise<Map<string, Page>> {
  const parts = wanted.map(({ after }) => partsOf(after));
  const rows = await db<PageRow[]>`
    select account_id as "accountId", xid, seq, topic, op, subject as id, at, settled, fits, asked, is_last as "isLast", cut, record
    from kernel.read_changes(${wanted.map(({ accountId }) => accountId)}, ${parts.map(({ xid }) => xid)},
      ${parts.map(({ seq }) => seq)}, ${topics ? [...topics] : null}, ${pageBytes}, ${most}, ${lookAt})`;
  const pages = new Map<string, Page>();
  for (const { xid, seq, settled, fits, asked, isLast, cut, record, ...row } of rows) {
    const page = pages.get(row.accountId) ?? { changes: [], end: undefined, isFull: false, isHeld: false, isCut: cut };
    pages.set(row.accountId, page);
    if (cut) continue;
    if (!fits) {
      if (settled) page.isFull = true;
      else page.isHeld = true;
      continue;
    }
    const position = positionOf(xid, seq);
    page.end = position;
    if (asked) page.changes.push({ ...row, position, record: record ?? undefined });
    if (isLast) page.isFull = true;
  }
  return pages;
}

const trimAtOnce = 5_000;

/** Drops the oldest changes of an account past `most`, some thousands at a time: others read on meanwhile. */
export async function trimChanges(db: Db, accountId: string, most: number): Promise<void> {
  const [last] = await db<{ xid: string; seq: number }[]>`
    select c.xid::text as xid, c.seq from kernel.changes c
    where c.account_id = ${accountId} and c.xid < (select kernel.feed_horizon())
    -- Of the table: by the text of the answer 1000 would stand before 999.
    order by c.xid desc, c.seq desc offset ${most} limit 1`;
  if (!last) return;
  // The floor first: a cursor before it must not find a gap.
  await db`
    insert into kernel.change_floors as f (account_id, xid, seq)
    values (${accountId}, ${last.xid}::text::xid8, ${last.seq})
    on conflict (account_id) do update set xid = excluded.xid, seq = excluded.seq
      where (f.xid, f.seq) < (excluded.xid, excluded.seq)`;
  for (;;) {
    const { count } = await db`
      delete from kernel.changes where (account_id, xid, seq) in (
        select account_id, xid, seq from kernel.changes
        where account_id = ${accountId} and (xid, seq) <= (${last.xid}::text::xid8, ${last.seq})
        order by xid, seq limit ${trimAtOnce})`;
    if (count < trimAtOnce) return;
  }
}

/** The next account after `after` that has changes; without `after` the first; undefined: none. */
export async function nextAccount(db: Db, after?: string): Promise<string | undefined> {
  const [row] = await db<{ id: string }[]>`
    select account_id as id from kernel.changes ${after === undefined ? db`` : db`where account_id > ${after}`}
    order by account_id limit 1`;
  return row?.id;
}

/** Prepares the next days, and drops those that are older than `days`; on the database's clock, as changes are written on it. */
export async function keepDays(db: Db, days: number): Promise<void> {
  await db`select kernel.keep_change_days(now(), now() - make_interval(days => ${days}))`;
}

/** The oldest transaction that has written and is open: what came after it is told when it ends. */
export async function findHolder(db: Db): Promise<{ pid: number; name: string; seconds: number } | undefined> {
  const [row] = await db<{ pid: number; name: string; seconds: number }[]>`
    select pid, name, seconds from kernel.feed_holder()`;
  return row;
}
