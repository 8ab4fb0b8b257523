import { monitorStates } from './heartbeats.states.ts';
import type { Quota } from '../../kernel/records/quotas.ts';
import { type Db, nowOf, type Time } from '../../kernel/db/db.ts';
import { deadlineOf, type MonitorState, type Signal, type Times } from './heartbeats.rules.ts';
import { nextOf } from './heartbeats.times.ts';

/** A monitor as it is stored. */
export interface MonitorRow {
  id: string;
  account_id: string;
  name: string;
  slug: string | null;
  period_s: number;
  grace_s: number;
  cron: string | null;
  tz: string | null;
  expected_at: string | null;
  token_hash: Buffer;
  status: MonitorState['status'];
  recovery_owed: boolean;
  outage: number;
  ping_seq: number;
  armed_at: string;
  last_success_at: string | null;
  last_ping_at: string | null;
  last_start_at: string | null;
  last_exit_code: number | null;
  started_at: string | null;
  start_rid: string | null;
  created_at: string;
  updated_at: string;
  /** When its followers were told of it last. */
  told_at: string | null;
  tags: string[];
  paused_until: string | null;
  /** Nobody is told before this that it is down. */
  muted_until: string | null;
  down_since: string | null;
  flip_seq: number;
  /** Nothing is known of its states before this. */
  known_since: string;
  /** The database's instant of the query, in whole milliseconds as everything here. */
  now: string;
}

/** Now, in milliseconds: what is stored is compared with what the rules computed. */
export const nowMs = (db: Db, time: Time) => db`date_trunc('milliseconds', ${nowOf(db, time)})`;

/** The columns of a `MonitorRow`. */
export const columns = (db: Db, time: Time) => db`
  id, account_id, name, slug, period_s, grace_s, cron, tz, expected_at, token_hash, status, recovery_owed, outage, ping_seq, armed_at,
  last_success_at, last_ping_at, last_start_at, last_exit_code, started_at, start_rid, created_at, updated_at, told_at,
  tags, paused_until, muted_until, down_since, flip_seq, known_since, ${nowMs(db, time)} as now`;

/** A monitor to be made. */
interface NewMonitor extends Times {
  accountId: string;
  name: string;
  /** One that no monitor of the account has. */
  slug: string | null;
  tags: readonly string[];
  tokenHash: Buffer;
}

/** Creates a monitor that expects its first success from now on. */
export async function insertMonitor(db: Db, time: Time, monitor: NewMonitor): Promise<MonitorRow> {
  const { accountId, name, slug, tags, periodS, graceS, cron, tz, tokenHash } = monitor;
  const [clock] = await db<{ now: string }[]>`select ${nowMs(db, time)} as now`;
  const at = (clock as { now: string }).now;
  const first = cron === null ? undefined : nextOf(cron, tz, Date.parse(at));
  const expectedAt = first?.expectedAt ?? Date.parse(at) + periodS * 1000;
  const [row] = await db<MonitorRow[]>`
    insert into heartbeats.monitors
      (account_id, name, slug, tags, period_s, grace_s, cron, tz, expected_at, token_hash, armed_at, deadline, created_at, updated_at,
        known_since)
    values (${accountId}, ${name}, ${slug}, ${[...tags]}::text[], ${first?.periodS ?? periodS}, ${graceS}, ${cron}, ${tz},
      ${first ? instantOf(expectedAt) : null}, ${tokenHash}, ${at}, ${instantOf(expectedAt + graceS * 1000)}, ${at}, ${at}, ${at})
    returning ${columns(db, time)}`;
  return row as MonitorRow;
}

const instantOf = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

/** Limit of the monitors of an account. */
export const heartbeatsQuota: Quota = {
  name: 'heartbeats',
  remedy: 'delete a monitor that is not needed any more',
  async count(db, accountId) {
    const [row] = await db<{ n: number }[]>`
      select count(*)::int as n from heartbeats.monitors where account_id = ${accountId}`;
    return row?.n ?? 0;
  },
};

/** A monitor of the account. */
export async function findMonitor(db: Db, time: Time, accountId: string, id: string): Promise<MonitorRow | undefined> {
  const [row] = await db<MonitorRow[]>`
    select ${columns(db, time)} from heartbeats.monitors where id = ${id} and account_id = ${accountId}`;
  return row;
}

/** A monitor of the account, locked until the transaction ends. */
export async function lockMonitor(db: Db, time: Time, accountId: string, id: string): Promise<MonitorRow | undefined> {
  const [row] = await db<MonitorRow[]>`
    select ${columns(db, time)} from heartbeats.monitors where id = ${id} and account_id = ${accountId} for update`;
  return row;
}

/** A monitor by its slug. */
interface Named {
  accountId: string;
  slug: string;
}

/** The monitors of these tokens and names, locked in the order of their ids: no two transactions wait for each other. */
export async function lockAddressed(
  db: Db,
  time: Time,
  hashes: readonly Buffer[],
  named: readonly Named[],
): Promise<MonitorRow[]> {
  const byToken = db`token_hash = any(array(select decode(hash, 'hex') from unnest(${hashes.map(hex)}::text[]) as hash))`;
  const byName = db`
    select m.id from heartbeats.monitors m join unnest(${named.map((one) => one.accountId)}::uuid[],
      ${named.map((one) => one.slug)}::text[]) as n (account_id, slug) using (account_id, slug)`;
  // Most batches have tokens only, and one look-up is enough for these.
  const wanted =
    named.length === 0
      ? byToken
      : db`id = any(array(select id from heartbeats.monitors where ${byToken} union ${byName}))`;
  return db<MonitorRow[]>`
    select ${columns(db, time)} from heartbeats.monitors where ${wanted} order by id for update`;
}

/** postgres.js takes an array of bytes for one of its elements. */
const hex = (bytes: Buffer): string => bytes.toString('hex');

/** Something is due by now: its deadline, the end of its pause, or that of its silence. */
const isDue = (db: Db, time: Time) => db`
  (deadline <= ${nowMs(db, time)} or paused_until <= ${nowMs(db, time)} or muted_until <= ${nowMs(db, time)})`;
const firstDue = (db: Db) => db`least(deadline, paused_until, muted_until)`;

/** Monitors of which something is due, or the one with `id` if so, locked; those at work elsewhere are left to it. */
export async function lockDue(db: Db, time: Time, most: number, id: string | null = null): Promise<MonitorRow[]> {
  return db<MonitorRow[]>`
    select ${columns(db, time)} from heartbeats.monitors
    where ${isDue(db, time)} and (${id}::uuid is null or id = ${id})
    order by ${firstDue(db)} limit ${most} for update skip locked`;
}

/** Monitors that wait for a ping, behind `after` by id, locked. */
export async function lockWatched(db: Db, time: Time, after: string, most: number): Promise<MonitorRow[]> {
  return db<MonitorRow[]>`
    select ${columns(db, time)} from heartbeats.monitors
    where status in ${monitorStates.sql('watched')(db)} and id > ${after} order by id limit ${most} for update`;
}

/** Ids of monitors of which something is due. */
export async function dueIds(db: Db, time: Time, most: number): Promise<string[]> {
  const rows = await db<{ id: string }[]>`
    select id from heartbeats.monitors where ${isDue(db, time)} order by ${firstDue(db)} limit ${most}`;
  return rows.map(({ id }) => id);
}

/** Milliseconds until something is due; undefined when nothing will be. */
export async function untilDue(db: Db, time: Time): Promise<number | undefined> {
  const [row] = await db<{ ms: number | null }[]>`
    select 1000 * extract(epoch from least(
      (select min(deadline) from heartbeats.monitors where deadline is not null),
      (select min(paused_until) from heartbeats.monitors where paused_until is not null),
      (select min(muted_until) from heartbeats.monitors where muted_until is not null)
    ) - ${nowOf(db, time)})::float8 as ms`;
  return row?.ms ?? undefined;
}

/** The state that the rules work on. */
export function stateOf(row: MonitorRow): MonitorState {
  const at = (text: string | null): number | null => (text === null ? null : Date.parse(text));
  return {
    status: row.status,
    periodS: row.period_s,
    graceS: row.grace_s,
    cron: row.cron,
    tz: row.tz,
    expectedAt: at(row.expected_at),
    armedAt: Date.parse(row.armed_at),
    lastSuccessAt: at(row.last_success_at),
    lastPingAt: at(row.last_ping_at),
    lastStartAt: at(row.last_start_at),
    lastExitCode: row.last_exit_code,
    startedAt: at(row.started_at),
    startRid: row.start_rid,
    recoveryOwed: row.recovery_owed,
    outage: row.outage,
    downSince: at(row.down_since),
    pausedUntil: at(row.paused_until),
  };
}

/** A monitor with what the rules made of it. */
export interface Changed {
  id: string;
  state: MonitorState;
  pingSeq: number;
  flipSeq: number;
  /** When its followers are told of it; undefined: not now. */
  toldAt?: string | undefined;
}

/** Stores what the rules made of monitors, with their next deadlines. */
export async function saveStates(db: Db, changed: readonly Changed[]): Promise<void> {
  const at = instantOf;
  const rows = changed.map(({ id, state, pingSeq, flipSeq, toldAt = null }) => ({
    id,
    told_at: toldAt,
    status: state.status,
    recovery_owed: state.recoveryOwed,
    outage: state.outage,
    ping_seq: pingSeq,
    flip_seq: flipSeq,
    down_since: at(state.downSince),
    paused_until: at(state.pausedUntil),
    armed_at: at(state.armedAt),
    last_success_at: at(state.lastSuccessAt),
    last_ping_at: at(state.lastPingAt),
    last_start_at: at(state.lastStartAt),
    last_exit_code: state.lastExitCode,
    started_at: at(state.startedAt),
    start_rid: state.startRid,
    period_s: state.periodS,
    expected_at: at(state.expectedAt),
    deadline: at(deadlineOf(state)),
  }));
  await db`
    update heartbeats.monitors m set
      status = n.status, recovery_owed = n.recovery_owed, outage = n.outage, ping_seq = n.ping_seq,
      armed_at = n.armed_at, last_success_at = n.last_success_at, last_ping_at = n.last_ping_at, last_start_at = n.last_start_at,
      last_exit_code = n.last_exit_code, started_at = n.started_at, start_rid = n.start_rid, deadline = n.deadline,
      period_s = n.period_s, expected_at = n.expected_at, told_at = coalesce(n.told_at, m.told_at),
      flip_seq = n.flip_seq, down_since = n.down_since, paused_until = n.paused_until
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as n (id uuid, status text, recovery_owed boolean,
      outage int, ping_seq bigint, armed_at timestamptz, last_success_at timestamptz, last_ping_at timestamptz, last_start_at timestamptz,
      last_exit_code int, started_at timestamptz, start_rid uuid, deadline timestamptz,
      period_s int, expected_at timestamptz, told_at timestamptz, flip_seq bigint, down_since timestamptz,
      paused_until timestamptz)
    where m.id = n.id`;
}

/** Changes what the owner may; what follows for its state is stored with that, after this. */
export async function updateTerms(
  db: Db,
  time: Time,
  id: string,
  terms: Omit<Times, 'periodS'> & {
    name?: string | undefined;
    slug: string | null;
    tags: readonly string[];
    mutedUntil: string | null;
  },
): Promise<MonitorRow> {
  const [row] = await db<MonitorRow[]>`
    update heartbeats.monitors set
      name = coalesce(${terms.name ?? null}::text, name), slug = ${terms.slug}, tags = ${[...terms.tags]}::text[], grace_s = ${terms.graceS}, cron = ${terms.cron}, tz = ${terms.tz},
      muted_until = ${terms.mutedUntil},
      updated_at = ${nowMs(db, time)}
    where id = ${id} returning ${columns(db, time)}`;
  return row as MonitorRow;
}

/** Ends the silence of monitors. */
export async function endSilence(db: Db, ids: readonly string[]): Promise<void> {
  await db`update heartbeats.monitors set muted_until = null where id = any(${[...ids]}::uuid[])`;
}

/** Gives a monitor of the account another token, and answers its name; undefined when it does not exist. */
export async function replaceToken(
  db: Db,
  time: Time,
  { accountId, id, tokenHash }: { accountId: string; id: string; tokenHash: Buffer },
): Promise<string | undefined> {
  const [row] = await db<{ name: string }[]>`
    update heartbeats.monitors set token_hash = ${tokenHash}, updated_at = ${nowMs(db, time)}
    where id = ${id} and account_id = ${accountId} returning name`;
  return row?.name;
}

/** Those of these monitors that are there. */
export async function existingMonitors(db: Db, ids: readonly string[]): Promise<string[]> {
  const rows = await db<{ id: string }[]>`select id from heartbeats.monitors where id = any(${[...ids]}::uuid[])`;
  return rows.map(({ id }) => id);
}

/** Deletes a monitor of the account and its pings; false when it does not exist. */
export async function deleteMonitor(db: Db, accountId: string, id: string): Promise<boolean> {
  const rows = await db`delete from heartbeats.monitors where id = ${id} and account_id = ${accountId} returning 1`;
  return rows.length > 0;
}

/** A ping to be stored. */
export interface NewPing extends Signal {
  monitorId: string;
  seq: number;
  body: Buffer;
  count: number;
}

/** Stores pings, all at one instant. */
export async function insertPings(db: Db, at: string, pings: readonly NewPing[]): Promise<void> {
  const column = <T>(pick: (ping: NewPing) => T): T[] => pings.map(pick);
  await db`
    insert into heartbeats.pings (monitor_id, seq, at, kind, exit_code, rid, body, count)
    select monitor_id, seq, ${at}::timestamptz, kind, exit_code, rid, decode(nullif(body, ''), 'hex'), count from unnest(
      ${column((p) => p.monitorId)}::uuid[], ${column((p) => p.seq)}::bigint[], ${column((p) => p.kind)}::text[],
      ${column((p) => p.exitCode)}::int[], ${column((p) => p.rid)}::uuid[], ${column((p) => hex(p.body))}::text[],
      ${column((p) => p.count)}::int[]
    ) as given (monitor_id, seq, kind, exit_code, rid, body, count)`;
}

/** Forgets pings up to a number, of each monitor. */
export async function trimPings(db: Db, upTo: readonly { monitorId: string; seq: number }[]): Promise<void> {
  await db`
    delete from heartbeats.pings p
    using unnest(${upTo.map((one) => one.monitorId)}::uuid[], ${upTo.map((one) => one.seq)}::bigint[]) as old (id, seq)
    where p.monitor_id = old.id and p.seq <= old.seq`;
}

/** A ping as it is listed. */
export interface PingRow {
  kind: Signal['kind'];
  at: string;
  exit_code: number | null;
  rid: string | null;
  body: Buffer | null;
  count: number;
}

/** The newest pings of a monitor; undefined when the account has no such monitor. */
export async function listPings(db: Db, accountId: string, id: string, most: number): Promise<PingRow[] | undefined> {
  const known = await db`select 1 from heartbeats.monitors where id = ${id} and account_id = ${accountId}`;
  if (known.length === 0) return undefined;
  return db<PingRow[]>`
    select kind, at, exit_code, rid, body, count from heartbeats.pings
    where monitor_id = ${id} order by seq desc limit ${most}`;
}
