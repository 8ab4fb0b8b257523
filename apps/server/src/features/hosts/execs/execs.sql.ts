import { type Db, nowOf, type Time } from '../../../kernel/db/db.ts';
import { type PagedRow, pageEnd, type PageQuery } from '../../../kernel/db/paging.ts';
import type { Sealed } from '../../../kernel/base/crypto.ts';
import type { Quota } from '../../../kernel/records/quotas.ts';
import { type ExecState, execStates } from './execs.states.ts';

/** A command as it is stored. */
export interface ExecRow {
  id: string;
  account_id: string;
  device_id: string;
  key_id: string;
  from_device_id: string | null;
  op: string;
  state: ExecState;
  sent_epoch: number | null;
  token_hash: Buffer | null;
  ok: boolean | null;
  /** JSON. */
  result: string | null;
  error: string | null;
  exit_code: number | null;
  output_bytes: number;
  truncated: boolean;
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
  cancel_asked_at: string | null;
  expires_at: string;
}

/** Columns that change. */
export type ExecChange = Partial<
  Omit<
    ExecRow,
    'id' | 'account_id' | 'device_id' | 'key_id' | 'from_device_id' | 'op' | 'created_at' | 'expires_at'
  > & {
    frame: null;
    sent_at: string;
  }
>;

/** The sealed frames of commands that have not started. */
export const sealedFrames: Sealed = { purpose: 'host-exec', table: 'hosts.execs', column: 'frame' };

const columns = (db: Db) => db`
  id, account_id, device_id, key_id, from_device_id, op, state, sent_epoch, token_hash, ok, result, error, exit_code,
  output_bytes, truncated, created_at, started_at, finished_at, cancel_asked_at, expires_at`;

/** Limit of the commands that are kept of an account. */
export const execsQuota: Quota = {
  name: 'execs',
  what: 'commands that hosts do by themselves',
  remedy: 'they are kept for 30 days; use calls that wait for their result',
  async count(db, accountId) {
    const [row] = await db<{ n: number }[]>`
      select count(*)::int as n from hosts.execs where account_id = ${accountId}`;
    return row?.n ?? 0;
  },
};

/** Limit of what is kept of them. */
export const execBytesQuota: Quota = {
  name: 'exec_bytes',
  what: 'bytes of commands that hosts do by themselves, their output and results',
  remedy: 'they are kept for 30 days; let commands write less',
  async count(db, accountId) {
    const [row] = await db<{ n: number }[]>`
      select coalesce(sum(kept_bytes), 0)::bigint as n from hosts.execs where account_id = ${accountId}`;
    return row?.n ?? 0;
  },
};

/** A command that is to be stored. */
type NewExec = Pick<
  ExecRow,
  'account_id' | 'device_id' | 'key_id' | 'from_device_id' | 'op' | 'state' | 'created_at' | 'expires_at'
> & { frame: Buffer };

export async function insertExec(db: Db, given: NewExec): Promise<ExecRow> {
  const [row] = await db<ExecRow[]>`insert into hosts.execs ${db(given as never)} returning ${columns(db)}`;
  return row as ExecRow;
}

/** Who asks: an account, or one key of it that sees its own commands only. */
export interface ExecReader {
  accountId: string;
  /** Unset: all of the account. */
  keyId?: string | undefined;
}

const ofReader = (db: Db, { accountId, keyId }: ExecReader) =>
  db`account_id = ${accountId} ${keyId === undefined ? db`` : db`and key_id = ${keyId}`}`;

export async function findExec(db: Db, reader: ExecReader, id: string): Promise<ExecRow | undefined> {
  const [row] = await db<ExecRow[]>`
    select ${columns(db)} from hosts.execs where id = ${id} and ${ofReader(db, reader)}`;
  return row;
}

/** Commands, newest first. */
export async function listExecs(
  db: Db,
  reader: ExecReader,
  page: PageQuery,
  { deviceId, state }: { deviceId?: string | undefined; state?: ExecState | undefined },
): Promise<(ExecRow & PagedRow)[]> {
  return db<(ExecRow & PagedRow)[]>`
    select ${columns(db)}, created_at::text as page_at from hosts.execs
    where ${ofReader(db, reader)} ${deviceId === undefined ? db`` : db`and device_id = ${deviceId}`}
      ${state === undefined ? db`` : db`and state = ${state}`}
      ${pageEnd(db, page, { at: db`created_at`, id: db`id` })}`;
}

/** A command, locked until the transaction ends; of a machine, where one is named. */
export async function lockExec(
  db: Db,
  { id, accountId, deviceId }: { id: string; accountId: string; deviceId?: string },
): Promise<ExecRow | undefined> {
  const [row] = await db<ExecRow[]>`
    select ${columns(db)} from hosts.execs where id = ${id} and account_id = ${accountId}
      ${deviceId === undefined ? db`` : db`and device_id = ${deviceId}`} for update`;
  return row;
}

/** Writes columns of a locked command. */
export async function changeExec(db: Db, id: string, change: ExecChange): Promise<ExecRow> {
  const [row] = await db<ExecRow[]>`
    update hosts.execs set ${db(change as never)} where id = ${id} returning ${columns(db)}`;
  return row as ExecRow;
}

/** A machine whose stream is open. */
interface Line {
  accountId: string;
  deviceId: string;
  epoch: number;
}

/** Holds the stream of a machine until the transaction ends; false when a newer one took its place. */
export async function lockStream(db: Db, { accountId, deviceId, epoch }: Line): Promise<boolean> {
  const rows = await db`
    select 1 from hosts.presence
    where account_id = ${accountId} and device_id = ${deviceId} and epoch = ${epoch} for update`;
  return rows.length > 0;
}

/** What a machine was told and is not over, locked, in the order in which it was given. */
export async function lockUnderway(
  db: Db,
  { accountId, deviceId }: Pick<Line, 'accountId' | 'deviceId'>,
): Promise<ExecRow[]> {
  return db<ExecRow[]>`
    select ${columns(db)} from hosts.execs
    where account_id = ${accountId} and device_id = ${deviceId} and finished_at is null
      and state in ${execStates.sql('underway')(db)}
    order by order_no for update`;
}

/** The first commands that are not over, locked. */
export async function lockUnfinished(db: Db, most: number): Promise<ExecRow[]> {
  return db<ExecRow[]>`
    select ${columns(db)} from hosts.execs where finished_at is null order by order_no limit ${most} for update`;
}

const keyLives = (db: Db) => db`exists (select 1 from keys.usable_view k where k.id = e.key_id)`;
const accountMay = (db: Db) =>
  db`exists (select 1 from accounts.standing_view a where a.id = e.account_id and a.may_run)`;

/** The next that a machine may be told of, locked. */
export async function lockWaiting(db: Db, time: Time, { accountId, deviceId }: Line, most: number): Promise<ExecRow[]> {
  return db<ExecRow[]>`
    select ${columns(db)} from hosts.execs e
    where account_id = ${accountId} and device_id = ${deviceId} and finished_at is null and state = 'waiting'
      and cancel_asked_at is null and expires_at > ${nowOf(db, time)} and ${keyLives(db)} and ${accountMay(db)}
    order by order_no limit ${most} for update of e`;
}

/** What a machine is told of a command, sealed; undefined once it started, or never will. One at a time: it may be long. */
export async function findFrame(db: Db, id: string): Promise<Buffer | undefined> {
  const [row] = await db<{ frame: Buffer | null }[]>`select frame from hosts.execs where id = ${id}`;
  return row?.frame ?? undefined;
}

/** Notes that commands are written to a stream. */
export async function noteStream(db: Db, ids: readonly string[], epoch: number): Promise<void> {
  if (ids.length > 0) await db`update hosts.execs set sent_epoch = ${epoch} where id = any(${[...ids]}::uuid[])`;
}

/** Takes it back: the stream had no room for these. */
export async function forgetStream(db: Db, ids: readonly string[], epoch: number): Promise<void> {
  await db`
    update hosts.execs set sent_epoch = null where id = any(${[...ids]}::uuid[]) and sent_epoch = ${epoch}`;
}

/** Those of these machines that are to be told something, one of each account in turn. */
export async function listToTell(db: Db, lines: readonly Line[]): Promise<Line[]> {
  return db<Line[]>`
    select account_id as "accountId", device_id as "deviceId", epoch from (
      select l.*, row_number() over (partition by account_id order by device_id) as nth
      from unnest(${lines.map(({ accountId }) => accountId)}::uuid[], ${lines.map(({ deviceId }) => deviceId)}::uuid[],
        ${lines.map(({ epoch }) => epoch)}::bigint[]) as l (account_id, device_id, epoch)
      where exists (
        select 1 from hosts.execs e
        where e.account_id = l.account_id and e.device_id = l.device_id and e.finished_at is null
          and (e.state = 'waiting' or (e.sent_epoch = l.epoch) is not true)
      )
    ) lines order by nth`;
}

/** A command that time, its key or its account ends. */
export interface Ending {
  id: string;
  account_id: string;
  /** False: the key that gave it has ended. */
  key_lives: boolean;
  /** False: its account may run nothing. */
  account_may: boolean;
}

/** Commands that are to end, one of each account in turn. */
export async function listEnding(db: Db, time: Time, most: number): Promise<Ending[]> {
  return db<Ending[]>`
    select id, account_id, key_lives, account_may from (
      select *, row_number() over (partition by account_id order by order_no) as nth
      from (
        select id, account_id, order_no, state, expires_at, cancel_asked_at, ${keyLives(db)} as key_lives,
          ${accountMay(db)} as account_may
        from hosts.execs e where finished_at is null
      ) live
      where state in ${execStates.sql('unstarted')(db)} and (expires_at <= ${nowOf(db, time)} or cancel_asked_at is not null)
        or not (key_lives and account_may) and cancel_asked_at is null
    ) ending order by nth limit ${most}`;
}

/** What waits for a machine is not to start any more; `reason` says why. */
export async function withdraw(
  db: Db,
  now: string,
  { accountId, deviceId }: Pick<Line, 'accountId' | 'deviceId'>,
  reason: string,
): Promise<void> {
  await db`
    update hosts.execs set cancel_asked_at = ${now}, error = ${reason}
    where account_id = ${accountId} and device_id = ${deviceId} and finished_at is null
      and state in ${execStates.sql('unstarted')(db)}`;
}

/** Somebody follows its output now. */
export async function noteSeen(db: Db, time: Time, id: string): Promise<void> {
  await db`update hosts.execs set seen_at = ${nowOf(db, time)} where id = ${id}`;
}

const watchedSeconds = 30;

/** Whether somebody follows its output. */
export async function isWatched(db: Db, time: Time, id: string): Promise<boolean> {
  const rows = await db`
    select 1 from hosts.execs
    where id = ${id} and seen_at > ${nowOf(db, time)} - make_interval(secs => ${watchedSeconds})`;
  return rows.length > 0;
}

/** What is shorter is added to the part before: a command may write a few bytes at a time for a day. */
const shortBytes = 16 * 1024;

/** Adds to the output of a locked command. */
export async function addOutput(db: Db, { id, output_bytes: at }: ExecRow, piece: Uint8Array): Promise<void> {
  const body = Buffer.from(piece);
  const { count } = await db`
    update hosts.exec_parts set body = body || ${body}
    where exec_id = ${id} and at = (select max(at) from hosts.exec_parts where exec_id = ${id})
      and length(body) + ${body.length} <= ${shortBytes}`;
  if (count === 0) await db`insert into hosts.exec_parts (exec_id, at, body) values (${id}, ${at}, ${body})`;
}

/** Parts of an output from a byte on, in order: the one that goes on after it too. */
export async function listOutput(
  db: Db,
  id: string,
  from: number,
  limit: number,
): Promise<{ at: number; body: Buffer }[]> {
  return db`
    select at, body from hosts.exec_parts
    where exec_id = ${id} and at + length(body) > ${from}
      and at >= coalesce((select max(at) from hosts.exec_parts where exec_id = ${id} and at <= ${from}), 0)
    order by at limit ${limit}`;
}

/** Deletes commands that were given before an instant, some at a time; answers how many. */
export async function deleteOldExecs(db: Db, before: string, most: number): Promise<number> {
  const { count } = await db`
    delete from hosts.execs where id = any (array(
      select id from hosts.execs where created_at < ${before} order by created_at limit ${most}))`;
  return count;
}
