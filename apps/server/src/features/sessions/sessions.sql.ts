import { type Db, nowOf, type Time } from '../../kernel/db/db.ts';
import { pageEnd, type PagedRow, type PageQuery } from '../../kernel/db/paging.ts';
import type { Quota } from '../../kernel/records/quotas.ts';
import { blockBytes, type GivenEvent, isUnique, leaseSeconds, type StoredEvent } from './sessions.rules.ts';

/** A session as it is stored. */
export interface SessionRow {
  id: string;
  account_id: string;
  title: string | null;
  metadata: Record<string, unknown> | null;
  seq: number;
  bytes: number;
  /** Who writes, or wrote last. */
  writer_id: string | null;
  lease_until: string | null;
  /** The lease is not over. */
  is_held: boolean;
  created_at: string;
  updated_at: string;
}

const columns = (db: Db, time: Time) => db`
  id, account_id, title, metadata, seq, bytes, writer_id, lease_until,
  coalesce(lease_until > ${nowOf(db, time)}, false) as is_held, created_at, updated_at`;

/** Limit of the sessions of an account. */
export const sessionsQuota: Quota = {
  name: 'sessions',
  remedy: 'delete one that is not needed any more',
  async count(db, accountId) {
    const [row] = await db<{ n: number }[]>`
      select count(*)::int as n from sessions.sessions where account_id = ${accountId}`;
    return row?.n ?? 0;
  },
};

/** Limit of the events and controls of an account's sessions; each session counts in whole blocks. */
export const sessionBytesQuota: Quota = {
  name: 'session_bytes',
  what: 'bytes in sessions',
  remedy: 'delete a session that is not needed any more',
  async count(db, accountId) {
    const [row] = await db<{ n: number }[]>`
      select coalesce(sum((bytes + ${blockBytes - 1}) / ${blockBytes} * ${blockBytes}), 0)::bigint as n
      from sessions.sessions where account_id = ${accountId}`;
    return row?.n ?? 0;
  },
};

/** The fields of a session that a person sets. */
export interface SessionTerms {
  title: string | null;
  metadata: Record<string, unknown> | null;
}

/** Stores a new session. */
export async function insertSession(db: Db, time: Time, accountId: string, terms: SessionTerms): Promise<SessionRow> {
  const now = nowOf(db, time);
  const [row] = await db<SessionRow[]>`
    insert into sessions.sessions (account_id, title, metadata, created_at, updated_at)
    values (${accountId}, ${terms.title}, ${jsonOf(terms.metadata)}::text::json, ${now}, ${now})
    returning ${columns(db, time)}`;
  return row as SessionRow;
}

const jsonOf = (value: Record<string, unknown> | null): string | null =>
  value === null ? null : JSON.stringify(value);

/** Sessions of an account, newest first. */
export async function listSessions(
  db: Db,
  time: Time,
  accountId: string,
  page: PageQuery,
): Promise<(SessionRow & PagedRow)[]> {
  return db<(SessionRow & PagedRow)[]>`
    select ${columns(db, time)}, created_at::text as page_at from sessions.sessions
    where account_id = ${accountId} ${pageEnd(db, page, { at: db`created_at`, id: db`id` })}`;
}

/** A session of the account. */
export async function findSession(db: Db, time: Time, accountId: string, id: string): Promise<SessionRow | undefined> {
  const [row] = await db<SessionRow[]>`
    select ${columns(db, time)} from sessions.sessions where id = ${id} and account_id = ${accountId}`;
  return row;
}

/** The same, locked until the transaction ends: its events get their numbers one writer after the other. */
export async function lockSession(db: Db, time: Time, accountId: string, id: string): Promise<SessionRow | undefined> {
  const [row] = await db<SessionRow[]>`
    select ${columns(db, time)} from sessions.sessions where id = ${id} and account_id = ${accountId}
    for no key update`;
  return row;
}

/** Replaces title and metadata of a locked session. */
export async function updateSession(db: Db, time: Time, id: string, terms: SessionTerms): Promise<SessionRow> {
  const [row] = await db<SessionRow[]>`
    update sessions.sessions set title = ${terms.title}, metadata = ${jsonOf(terms.metadata)}::text::json,
      updated_at = ${nowOf(db, time)}
    where id = ${id} returning ${columns(db, time)}`;
  return row as SessionRow;
}

/** Deletes a session of the account; answers whether there was one. */
export async function deleteSession(db: Db, accountId: string, id: string): Promise<boolean> {
  return (
    (await db`delete from sessions.sessions where id = ${id} and account_id = ${accountId} returning 1`).length > 0
  );
}

/** Gives the lease of a locked session to a device, or with null makes it free. */
export async function setLease(db: Db, time: Time, id: string, deviceId: string | null): Promise<SessionRow> {
  const now = nowOf(db, time);
  const [row] = await db<SessionRow[]>`
    update sessions.sessions set writer_id = coalesce(${deviceId}::uuid, writer_id),
      lease_until = ${deviceId === null ? db`null` : db`${now} + make_interval(secs => ${leaseSeconds})`}
    where id = ${id} returning ${columns(db, time)}`;
  return row as SessionRow;
}

/** Events of a session that have a name of these: begin and end of a turn, or an id. */
export async function findNamed(db: Db, id: string, events: readonly GivenEvent[]): Promise<StoredEvent[]> {
  const turns = events.filter(isUnique).map(({ turn_id }) => turn_id);
  const ids = events.flatMap((event) => event.id ?? []);
  if (turns.length === 0 && ids.length === 0) return [];
  return db<StoredEvent[]>`
    select seq, type, turn_id, event_id from sessions.events
    where session_id = ${id} and turn_id = any(${turns}::text[]) and type in ('turn_start', 'turn_end')
    union all
    select seq, type, turn_id, event_id from sessions.events
    where session_id = ${id} and event_id = any(${ids}::text[])`;
}

/** Events of a session behind `after`, oldest first: at most `limit`, and no more once their texts are over `bytes`. */
export async function listEvents(
  db: Db,
  id: string,
  { after, limit, bytes = 4 * 1024 * 1024 }: { after: number; limit: number; bytes?: number },
): Promise<StoredEvent[]> {
  return db<StoredEvent[]>`
    select seq, type, turn_id, event_id, role, text, data, device_id, at from (
      select e.*, sum(coalesce(octet_length(text), 0) + coalesce(octet_length(data::text), 0)) over (order by seq)
        - coalesce(octet_length(text), 0) - coalesce(octet_length(data::text), 0) as before
      from sessions.events e where session_id = ${id} and seq > ${after} order by seq limit ${limit}
    ) page where before < ${bytes} order by seq`;
}

/** Appends events to a locked session, and gives its lease to their device. */
export async function insertEvents(
  db: Db,
  time: Time,
  session: Pick<SessionRow, 'id' | 'account_id'>,
  { events, deviceId, bytes }: { events: readonly GivenEvent[]; deviceId: string; bytes: number },
): Promise<SessionRow> {
  const { id } = session;
  const now = nowOf(db, time);
  const rows = events.map(({ data, ...event }) => ({
    ...event,
    data: data === undefined ? null : JSON.stringify(data),
  }));
  const [row] = await db<SessionRow[]>`
    with before as (
      select seq from sessions.sessions where id = ${id}
    ), stored as (
      insert into sessions.events (session_id, seq, type, turn_id, event_id, role, text, data, device_id, at)
      select ${id}::uuid, before.seq + given.nth, given.value->>'type', given.value->>'turn_id', given.value->>'id',
        given.value->>'role', given.value->>'text', (given.value->>'data')::json, ${deviceId}::uuid, ${now}
      from before, json_array_elements(${JSON.stringify(rows)}::text::json) with ordinality as given (value, nth)
      returning seq, type
    ), told as (
      insert into sessions.turns (session_id, seq, account_id, due_at)
      select ${id}::uuid, seq, ${session.account_id}::uuid, ${now} from stored where type in ('turn_start', 'turn_end')
    )
    update sessions.sessions set seq = seq + ${events.length}, bytes = bytes + ${bytes}, updated_at = ${now},
      writer_id = ${deviceId}, lease_until = ${now} + make_interval(secs => ${leaseSeconds})
    where id = ${id} returning ${columns(db, time)}`;
  return row as SessionRow;
}

/** Bytes of the text and the data of an event. */
const saidBytes = (db: Db) => db`(coalesce(octet_length(text), 0) + coalesce(octet_length(data::text), 0))`;

/** Texts and data of a session, oldest first: at most `limit`, and no more once they are over `bytes`. */
export async function listSaid(
  db: Db,
  id: string,
  { after, limit, bytes }: { after: number; limit: number; bytes: number },
): Promise<Pick<StoredEvent, 'seq' | 'type' | 'turn_id' | 'role' | 'text' | 'data'>[]> {
  return db<StoredEvent[]>`
    select seq, type, turn_id, role, text, data from (
      select seq, type, turn_id, role, text, data, sum(${saidBytes(db)}) over (order by seq) - ${saidBytes(db)} as before
      from sessions.events where session_id = ${id} and seq > ${after} and (text is not null or data is not null)
      order by seq limit ${limit}
    ) page where before < ${bytes} order by seq`;
}

/** The last event from which on the texts and data of a session take at least `bytes`; 0 when they take less. */
export async function findSaidFrom(db: Db, id: string, bytes: number): Promise<number> {
  const [row] = await db<{ seq: number }[]>`
    select seq from (
      select seq, sum(${saidBytes(db)}) over (order by seq desc) as behind
      from sessions.events where session_id = ${id} and (text is not null or data is not null)
    ) said where behind >= ${bytes} order by seq desc limit 1`;
  return row?.seq ?? 0;
}
