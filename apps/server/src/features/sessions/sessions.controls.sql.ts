import { type Db, nowOf, type Time } from '../../kernel/db/db.ts';
import { bytesOfControl } from './sessions.rules.ts';

/** Something that one device asks another one for, as it is stored. */
export interface ControlRow {
  id: string;
  order_no: number;
  session_id: string;
  account_id: string;
  type: string;
  text: string | null;
  /** Null: the next desktop or Android device that listens. */
  target_device_id: string | null;
  from_device_id: string | null;
  created_at: string;
  acked_at: string | null;
  withdrawn_at: string | null;
}

/** A control that is to be stored. */
type NewControl = Pick<
  ControlRow,
  'session_id' | 'account_id' | 'type' | 'text' | 'target_device_id' | 'from_device_id'
>;

const columns = (db: Db) => db`
  id, order_no, session_id, account_id, type, text, target_device_id, from_device_id, created_at, acked_at, withdrawn_at`;

/** Whether a device was asked for something in a session. */
export async function wasAsked(
  db: Db,
  { accountId, deviceId, sessionId }: { accountId: string; deviceId: string; sessionId: string },
): Promise<boolean> {
  const rows = await db`
    select 1 from sessions.controls
    where session_id = ${sessionId} and account_id = ${accountId} and target_device_id = ${deviceId} limit 1`;
  return rows.length > 0;
}

/** How many controls wait for a device, or with null for the next one, `most` at the highest. */
export async function countWaiting(db: Db, accountId: string, deviceId: string | null, most: number): Promise<number> {
  const [row] = await db<{ n: number }[]>`
    select count(*)::int as n from (select 1 from sessions.controls
      where account_id = ${accountId} and target_device_id is not distinct from ${deviceId}::uuid
        and acked_at is null and withdrawn_at is null limit ${most}) waiting`;
  return row?.n ?? 0;
}

/** Stores a control in a locked session; of those of it that wait no more only the newest `kept` stay. */
export async function insertControl(db: Db, time: Time, control: NewControl, kept: number): Promise<ControlRow> {
  const { session_id: session, account_id, type, text, target_device_id: target, from_device_id: from } = control;
  const [row] = await db<ControlRow[]>`
    insert into sessions.controls
      (session_id, account_id, type, text, target_device_id, from_device_id, created_at)
    values (${session}, ${account_id}, ${type}, ${text}, ${target}, ${from}, ${nowOf(db, time)})
    returning ${columns(db)}`;
  await db`
    with gone as (
      delete from sessions.controls
      where session_id = ${session} and (acked_at is not null or withdrawn_at is not null) and order_no <= (
        select order_no from sessions.controls where session_id = ${session} order by order_no desc offset ${kept} limit 1)
      returning text
    ), freed as (
      select coalesce(sum(${bytesOfControl('')} + coalesce(octet_length(text), 0)), 0) as bytes from gone
    )
    update sessions.sessions s set bytes = s.bytes + ${bytesOfControl(text ?? '')} - freed.bytes from freed
    where s.id = ${session}`;
  return row as ControlRow;
}

/** Controls by id, in their order. */
export async function findControls(db: Db, ids: readonly string[]): Promise<ControlRow[]> {
  return db<ControlRow[]>`
    select ${columns(db)} from sessions.controls where id = any(${[...ids]}::uuid[]) order by order_no`;
}

/** Controls that wait for a device, oldest first, behind `after`. */
export async function listWaiting(
  db: Db,
  { accountId, deviceId }: { accountId: string; deviceId: string },
  { after, limit }: { after: number; limit: number },
): Promise<ControlRow[]> {
  return db<ControlRow[]>`
    select ${columns(db)} from sessions.controls
    where account_id = ${accountId} and target_device_id = ${deviceId} and acked_at is null and withdrawn_at is null
      and order_no > ${after}
    order by order_no limit ${limit}`;
}

/** Notes that the target took a control, the first time; undefined when the control is not there for it, or was taken back. */
export async function ackControl(
  db: Db,
  time: Time,
  { accountId, deviceId, sessionId, id }: { accountId: string; deviceId: string; sessionId: string; id: string },
): Promise<(ControlRow & { is_first: boolean }) | undefined> {
  const [row] = await db<(ControlRow & { is_first: boolean })[]>`
    with before as (
      select id, acked_at from sessions.controls
      where id = ${id} and session_id = ${sessionId} and account_id = ${accountId} and target_device_id = ${deviceId}
        and withdrawn_at is null
      for update
    )
    update sessions.controls c set acked_at = coalesce(c.acked_at, ${nowOf(db, time)})
    from before where c.id = before.id
    returning c.id, c.order_no, c.session_id, c.account_id, c.type, c.text, c.target_device_id, c.from_device_id,
      c.created_at, c.acked_at, c.withdrawn_at, before.acked_at is null as is_first`;
  return row;
}

/** A control of a session, locked until the transaction ends. */
export async function lockControl(db: Db, sessionId: string, id: string): Promise<ControlRow | undefined> {
  const [row] = await db<ControlRow[]>`
    select ${columns(db)} from sessions.controls where id = ${id} and session_id = ${sessionId} for update`;
  return row;
}

/** Gives a locked control another device; null: the next one that listens. */
export async function retargetControl(db: Db, id: string, deviceId: string | null): Promise<ControlRow> {
  const [row] = await db<ControlRow[]>`
    update sessions.controls set target_device_id = ${deviceId} where id = ${id} returning ${columns(db)}`;
  return row as ControlRow;
}

/** Takes a locked control back. */
export async function withdrawControl(db: Db, time: Time, id: string): Promise<ControlRow> {
  const [row] = await db<ControlRow[]>`
    update sessions.controls set withdrawn_at = ${nowOf(db, time)} where id = ${id} returning ${columns(db)}`;
  return row as ControlRow;
}

/** Takes back every control that waits for a device; answers how many. */
export async function withdrawAllControls(db: Db, now: string): Promise<number> {
  const { count } = await db`
    update sessions.controls set withdrawn_at = ${now} where acked_at is null and withdrawn_at is null`;
  return count;
}

/** Which of these ids are controls of a session that were taken back. */
export async function listWithdrawn(db: Db, sessionId: string, ids: readonly string[]): Promise<string[]> {
  const rows = await db<{ id: string }[]>`
    select id from sessions.controls
    where session_id = ${sessionId} and id::text = any(${[...ids]}::text[]) and withdrawn_at is not null`;
  return rows.map(({ id }) => id);
}

/** Gives a device the controls of an account that wait for the next one, `most` of them, oldest first. */
export async function adoptControls(db: Db, accountId: string, deviceId: string, most: number): Promise<ControlRow[]> {
  return db<ControlRow[]>`
    update sessions.controls set target_device_id = ${deviceId}
    where id in (
      select id from sessions.controls
      where account_id = ${accountId} and target_device_id is null and acked_at is null and withdrawn_at is null
      order by order_no limit ${most} for update skip locked)
    returning ${columns(db)}`;
}
