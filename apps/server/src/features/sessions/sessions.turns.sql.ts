import { type Db, nowOf, type Time } from '../../kernel/db/db.ts';

/** Begin or end of a turn, as other features are told of it. */
export interface SessionTurn {
  accountId: string;
  sessionId: string;
  turnId: string;
  type: 'turn_start' | 'turn_end';
  /** The first text of the turn; empty when its client gives none. */
  text: string;
  /** Of the event: what the turn came to, when its client says so. */
  data: Record<string, unknown> | null;
  /** The device that reported it. */
  deviceId: string;
}

/** A turn that is to be told. */
interface TurnRow extends SessionTurn {
  seq: number;
  attempts: number;
}

/** The oldest turn that is due of each account, of `most` accounts. */
export async function listDueTurns(
  db: Db,
  time: Time,
  most: number,
): Promise<{ session_id: string; seq: number; account_id: string }[]> {
  return db<{ session_id: string; seq: number; account_id: string }[]>`
    with recursive accounts as (
      (select account_id from sessions.turns order by account_id limit 1)
      union all
      select (select t.account_id from sessions.turns t where t.account_id > a.account_id order by t.account_id limit 1)
      from accounts a where a.account_id is not null
    )
    select due.session_id, due.seq, due.account_id from accounts a cross join lateral (
      select * from sessions.turns t where t.account_id = a.account_id and t.due_at <= ${nowOf(db, time)}
      order by t.due_at, t.session_id, t.seq limit 1
    ) due order by due.due_at limit ${most}`;
}

/** One of them, locked; undefined when it is told, or being told elsewhere. */
export async function takeTurn(
  db: Db,
  { session_id, seq }: { session_id: string; seq: number },
): Promise<TurnRow | undefined> {
  const [row] = await db<TurnRow[]>`
    select t.account_id as "accountId", t.session_id as "sessionId", t.seq, t.attempts, e.turn_id as "turnId", e.type,
      coalesce(e.text, '') as text, e.data, e.device_id as "deviceId"
    from sessions.turns t join sessions.events e on e.session_id = t.session_id and e.seq = t.seq
    where t.session_id = ${session_id} and t.seq = ${seq} for update of t skip locked`;
  return row;
}

/** Forgets a turn that was told. */
export async function deleteTurn(db: Db, { session_id, seq }: { session_id: string; seq: number }): Promise<void> {
  await db`delete from sessions.turns where session_id = ${session_id} and seq = ${seq}`;
}

/** Tells it again after so many seconds, by how often it was tried; answers how often that is now. */
export async function postponeTurn(
  db: Db,
  time: Time,
  { session_id, seq }: { session_id: string; seq: number },
  seconds: readonly number[],
): Promise<number> {
  const [row] = await db<{ attempts: number }[]>`
    update sessions.turns set attempts = attempts + 1,
      due_at = ${nowOf(db, time)} + make_interval(secs => coalesce((${[...seconds]}::int[])[attempts + 1], 0))
    where session_id = ${session_id} and seq = ${seq} returning attempts`;
  return row?.attempts ?? 0;
}

/** The end of a turn of a session of the account. */
export async function findEnd(
  db: Db,
  { accountId, sessionId, turnId }: { accountId: string; sessionId: string; turnId: string },
): Promise<Pick<SessionTurn, 'data'> | undefined> {
  const [row] = await db<Pick<SessionTurn, 'data'>[]>`
    select e.data from sessions.events e join sessions.sessions s on s.id = e.session_id
    where s.id = ${sessionId} and s.account_id = ${accountId} and e.turn_id = ${turnId} and e.type = 'turn_end'`;
  return row;
}

/** Whether a turn of a session has begun. */
export async function hasBegun(db: Db, sessionId: string, turnId: string): Promise<boolean> {
  const rows = await db`
    select 1 from sessions.events where session_id = ${sessionId} and turn_id = ${turnId} and type = 'turn_start'`;
  return rows.length > 0;
}
