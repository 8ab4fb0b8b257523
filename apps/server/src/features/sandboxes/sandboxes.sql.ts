import type { Backend, Egress, Template } from '@svc/sandboxd-api';
import { type Act, insertingAct, type Who, writeAct } from '../../kernel/records/audit.ts';
import { commitLater, type Db, type Fragment, nowOf, type Time } from '../../kernel/db/db.ts';
import { sandboxStates, type State } from './sandboxes.states.ts';

/** A sandbox as it is stored. */
export interface SandboxRow {
  id: string;
  account_id: string;
  key_id: string;
  node_id: string | null;
  state: State;
  backend: Backend;
  template: Template;
  egress: Egress;
  metadata: Record<string, string>;
  restored: boolean | null;
  image_digest: string | null;
  generation: number;
  created_at: string;
  expires_at: string;
  ttl_left_ms: number | null;
  last_exec_at: string | null;
  exec_count: number;
  exec_ms: number;
  snapshot_bytes: number | null;
  parent_id: string | null;
  memory_mb: number;
}

export const columns = (db: Db) => db`
  id, account_id, key_id, node_id, state, backend, template, egress, metadata, restored, image_digest, generation,
  created_at, expires_at, ttl_left_ms, last_exec_at, exec_count, exec_ms, snapshot_bytes, parent_id, memory_mb`;

/** Takes the account's lock until the transaction ends: what checks a cap and what counts towards it are one step. */
export async function lockAccount(db: Db, accountId: string): Promise<void> {
  await db`select pg_advisory_xact_lock(hashtextextended(${`sandboxes:${accountId}`}, 0))`;
}

/** How many count towards each cap (document 3, Limits). */
export async function countLive(db: Db, accountId: string, keyId: string) {
  const [row] = await db<{ key_running: number; user_running: number; user_v2: number; user_paused: number }[]>`
    select count(*) filter (where key_id = ${keyId} and running) as key_running,
      count(*) filter (where running) as user_running,
      count(*) filter (where backend = 'v2' and running) as user_v2,
      count(*) filter (where backend = 'v2' and not running) as user_paused
    from (select key_id, backend, state in ${sandboxStates.sql('counted')(db)} as running from sandboxes.sandboxes
      where account_id = ${accountId} and state in ${sandboxStates.sql('live')(db)}) as live`;
  const { key_running: keyRunning = 0, user_running: userRunning = 0 } = row ?? {};
  return { keyRunning, userRunning, userV2: row?.user_v2 ?? 0, userPaused: row?.user_paused ?? 0 };
}

/** The same of an account whatever its keys; `ofKey`: of the key that runs most. */
export async function countAll(db: Db, accountId: string) {
  const [row] = await db<{ running: number; v2: number; of_key: number; paused: number }[]>`
    select coalesce(sum(running), 0)::int as running, coalesce(sum(v2), 0)::int as v2,
      coalesce(max(running), 0)::int as of_key, coalesce(sum(paused), 0)::int as paused
    from (select count(*) filter (where state in ${sandboxStates.sql('counted')(db)}) as running,
        count(*) filter (where backend = 'v2' and state in ${sandboxStates.sql('counted')(db)}) as v2,
        count(*) filter (where backend = 'v2' and state not in ${sandboxStates.sql('counted')(db)}) as paused
      from sandboxes.sandboxes where account_id = ${accountId} and state in ${sandboxStates.sql('live')(db)}
      group by key_id) as keys`;
  const { running = 0, v2 = 0, of_key: ofKey = 0, paused = 0 } = row ?? {};
  return { running, v2, ofKey, paused };
}

/** MiB of memory that an account's running sandboxes have, those that are about to run among them. */
export async function memoryOfRunning(db: Db, accountId: string): Promise<number> {
  const [row] = await db<{ mb: number }[]>`
    select coalesce(sum(memory_mb), 0)::int as mb from sandboxes.sandboxes
    where account_id = ${accountId} and state in ${sandboxStates.sql('counted')(db)}`;
  return row?.mb ?? 0;
}

/** Stores a sandbox that is about to be made. */
export async function insertSandbox(
  db: Db,
  time: Time,
  sandbox: Pick<
    SandboxRow,
    'id' | 'account_id' | 'key_id' | 'state' | 'backend' | 'template' | 'egress' | 'metadata' | 'memory_mb'
  > & {
    ttlMs: number;
    parentId?: string;
  },
): Promise<SandboxRow> {
  const {
    id,
    account_id,
    key_id,
    state,
    backend,
    template,
    egress,
    metadata,
    ttlMs,
    parentId = null,
    memory_mb,
  } = sandbox;
  const [row] = await db<SandboxRow[]>`
    insert into sandboxes.sandboxes
      (id, account_id, key_id, state, backend, template, egress, metadata, created_at, expires_at, parent_id, moved_at,
        memory_mb)
    select ${id}, ${account_id}, ${key_id}, ${state}, ${backend}, ${template}, ${db.json(egress)},
      ${db.json(metadata)}, at, at + make_interval(secs => ${ttlMs / 1000}), ${parentId}, at, ${memory_mb}
    from (select date_trunc('milliseconds', ${nowOf(db, time)}) as at) as clock
    returning ${columns(db)}`;
  return row as SandboxRow;
}

/** Where it is being made, and as what. */
export async function placeSandbox(db: Db, id: string, place: { nodeId: string; backend: Backend }): Promise<void> {
  await db`
    update sandboxes.sandboxes set node_id = ${place.nodeId}, backend = ${place.backend} where id = ${id}`;
}

/** Deletes the row of a sandbox that is in one of these states. */
export async function deleteSandbox(db: Db, id: string, from: readonly State[]): Promise<void> {
  await db`delete from sandboxes.sandboxes where id = ${id} and state = any(${[...from]})`;
}

/** The account's sandbox, once it was made. */
export async function findSandbox(db: Db, accountId: string, id: string): Promise<SandboxRow | undefined> {
  const [row] = await db<SandboxRow[]>`
    select ${columns(db)} from sandboxes.sandboxes
    where id = ${id} and account_id = ${accountId} and state <> 'creating'`;
  return row;
}

/** Forgets sandboxes that were over 30 days ago; the audit log keeps what they did. */
export async function deleteOldSandboxes(db: Db, time: Time): Promise<void> {
  await db`
    delete from sandboxes.sandboxes
    where state in ${sandboxStates.sql('over')(db)} and moved_at < ${nowOf(db, time)} - interval '30 days'`;
}

/**
 * Takes a running sandbox for a command and begins what begins with it (parts of a `with`, `from taken`), in one
 * statement: on the way of every command a round trip counts. Nothing is acknowledged by it, so the disk is not waited
 * for. Undefined when it does not run, another command has it, or `condition` does not hold.
 */
export async function takeSandbox(
  db: Db,
  time: Time,
  take: { id: string; accountId: string; holder: string; holdMs: number },
  condition: Fragment,
  begins: Fragment,
): Promise<SandboxRow | undefined> {
  const { id, accountId, holder, holdMs } = take;
  const [row] = await db<SandboxRow[]>`
    with unsynced as (${commitLater(db)}),
    taken as (
      update sandboxes.sandboxes set busy_by = ${holder},
        busy_until = ${nowOf(db, time)} + make_interval(secs => ${holdMs / 1000})
      where id = ${id} and account_id = ${accountId} and state = 'running'
        and (busy_until is null or busy_until < ${nowOf(db, time)}) and ${condition}
      returning ${columns(db)}),
    ${begins}
    select taken.* from taken, unsynced`;
  return row;
}

/** Holds on to a sandbox that was taken. */
export async function holdSandbox(db: Db, time: Time, id: string, holder: string, holdMs: number): Promise<void> {
  await db`
    update sandboxes.sandboxes set busy_until = ${nowOf(db, time)} + make_interval(secs => ${holdMs / 1000})
    where id = ${id} and busy_by = ${holder}`;
}

/** Gives a sandbox back with what the command came to, and ends what ends with it (parts of a `with`); its generation. */
export async function freeSandbox(
  db: Db,
  time: Time,
  id: string,
  holder: string,
  done: { execMs?: number | undefined; changed: boolean },
  ends: Fragment,
): Promise<number> {
  const ran = done.execMs !== undefined;
  const [row] = await db<{ generation: number }[]>`
    with ${ends}
    update sandboxes.sandboxes set
      busy_by = case when busy_by = ${holder} then null else busy_by end,
      busy_until = case when busy_by = ${holder} then null else busy_until end,
      last_exec_at = case when ${ran} then date_trunc('milliseconds', ${nowOf(db, time)}) else last_exec_at end,
      exec_count = exec_count + ${ran ? 1 : 0}, exec_ms = exec_ms + ${Math.round(done.execMs ?? 0)},
      generation = generation + ${done.changed ? 1 : 0}
    where id = ${id} returning generation`;
  return row?.generation ?? 0;
}

/** Whether the keeper has anything to do: one statement a second of an idle gateway, not five. */
export async function isAnyDue(db: Db, time: Time): Promise<boolean> {
  const [row] = await db<{ due: boolean }[]>`select
    exists (select 1 from sandboxes.sandboxes where busy_by is not null and busy_until < ${nowOf(db, time)} - interval '5 seconds')
    or exists (select 1 from sandboxes.sandboxes where state = 'running' and expires_at <= ${nowOf(db, time)})
    or exists (select 1 from sandboxes.sandboxes s join accounts.standing_view a on a.id = s.account_id where s.state = 'running' and not may_run) as due`;
  return row?.due === true;
}

/** Commands that nobody holds on to any more, for as long as their gateway takes to notice; gives their sandboxes back. */
export async function takeAbandoned(db: Db, time: Time, limit: number) {
  return db<{ id: string; account_id: string; busy_until: string }[]>`
    with lost as (
      select id, busy_until from sandboxes.sandboxes
      where busy_by is not null and busy_until < ${nowOf(db, time)} - interval '5 seconds'
      limit ${limit} for update skip locked)
    update sandboxes.sandboxes s set busy_by = null, busy_until = null, generation = s.generation + 1,
      exec_count = s.exec_count + 1, last_exec_at = lost.busy_until
    from lost where s.id = lost.id returning s.id, s.account_id, lost.busy_until`;
}

/** Counts a change of the workspace, with its line of the audit log. */
export async function nextGeneration(db: Db, line: AuditLine): Promise<number> {
  const [row] = await db<{ generation: number }[]>`
    with told as (${insertingAct(db, actOf(line))})
    update sandboxes.sandboxes set generation = generation + 1 where id = ${line.sandboxId} returning generation`;
  return row?.generation ?? 0;
}

/** Running sandboxes past their lifetime. */
export async function dueSandboxes(db: Db, time: Time, limit: number) {
  return db<{ id: string; node_id: string | null }[]>`
    select id, node_id from sandboxes.sandboxes
    where state = 'running' and expires_at <= ${nowOf(db, time)} order by expires_at limit ${limit}`;
}

/** A running sandbox whose account may not run anything. */
export type SuspendedRow = Pick<SandboxRow, 'id' | 'account_id' | 'node_id' | 'backend'> & {
  /** Its account is being deleted: nothing of it is kept. */
  deleting: boolean;
};

/** Those of them that there are. */
export async function runningOfSuspended(db: Db, limit: number): Promise<SuspendedRow[]> {
  return db<SuspendedRow[]>`
    select s.id, s.account_id, s.node_id, s.backend, a.deleting from sandboxes.sandboxes s
      join accounts.standing_view a on a.id = s.account_id
    where s.state = 'running' and not a.may_run limit ${limit}`;
}

/** Sandboxes of an account that are not over, and where they are. */
export async function liveOfAccount(db: Db, accountId: string) {
  return db<{ id: string; state: State; node_id: string | null; address: string | null; incarnation: string | null }[]>`
    select s.id, s.state, s.node_id, n.address, n.incarnation from sandboxes.sandboxes s left join sandboxes.nodes n on n.id = s.node_id
    where s.account_id = ${accountId} and s.state not in ${sandboxStates.sql('over')(db)} order by s.ordinal`;
}

/** Sandboxes that a node should hold; `idle_ms` since a gateway moved each. */
export async function sandboxesOfNode(db: Db, time: Time, nodeId: string) {
  return db<(SandboxRow & { idle_ms: number })[]>`
    select ${columns(db)}, floor(extract(epoch from ${nowOf(db, time)} - moved_at) * 1000)::bigint as idle_ms
    from sandboxes.sandboxes
    where node_id = ${nodeId} and state in ${sandboxStates.sql('live')(db)}`;
}

/** Sandboxes that are not over, of all accounts. */
export async function listAllLive(db: Db): Promise<Pick<SandboxRow, 'id' | 'state' | 'backend'>[]> {
  return db`select id, state, backend from sandboxes.sandboxes where state in ${sandboxStates.sql('live')(db)} order by id`;
}

/** Which of these are over, or were never heard of: those are not known. */
export async function notLive(db: Db, ids: readonly string[]): Promise<{ id: string; isKnown: boolean }[]> {
  return db`
    select given.id, exists (select from sandboxes.sandboxes known where known.id = given.id) as "isKnown"
    from unnest(${[...ids]}::uuid[]) as given (id)
    left join sandboxes.sandboxes s on s.id = given.id and s.state in ${sandboxStates.sql('live')(db)}
    where s.id is null`;
}

/** Creations that no node was chosen for and whose gateway is gone. */
export async function abandonedCreations(db: Db, time: Time, olderMs: number) {
  return db<{ id: string }[]>`
    select id from sandboxes.sandboxes where state = 'creating' and node_id is null
      and moved_at < ${nowOf(db, time)} - make_interval(secs => ${olderMs / 1000})`;
}

interface AuditLine {
  accountId: string;
  by: Who;
  sandboxId: string;
  /** Without the feature's name. */
  action: string;
  detail?: object;
}

/** A part of a `with` that writes a line of the audit log; `from` may keep it from being written. */
export function auditing(db: Db, line: AuditLine, from: Fragment = db``): Fragment {
  return db`audited as (${insertingAct(db, actOf(line), from)})`;
}

/** Writes a line of the audit log. */
export const insertAudit = (db: Db, line: AuditLine): Promise<void> => writeAct(db, actOf(line));

const actOf = ({ accountId, by, sandboxId, action, detail }: AuditLine): Act => ({
  accountId,
  by,
  action: `sandboxes.${action}`,
  subject: sandboxId,
  details: detail,
});

/** Deletes lines that the version before wrote: of an account, or from before an instant. At most `most`; answers how many. */
export async function forgetOldAudit(
  db: Db,
  whose: { accountId: string } | { before: string },
  most: number,
): Promise<number> {
  const accountId = 'accountId' in whose ? whose.accountId : null;
  const before = 'before' in whose ? whose.before : null;
  const [row] = await db<{ gone: number }[]>`
    select sandboxes.forget_audit(${accountId}::uuid, ${before}::timestamptz, ${most}) as gone`;
  return row?.gone ?? 0;
}

/** Whether a command holds the sandbox now. */
export async function isBusy(db: Db, time: Time, id: string): Promise<boolean> {
  const [row] = await db<{ busy: boolean }[]>`
    select coalesce(busy_until > ${nowOf(db, time)}, false) as busy from sandboxes.sandboxes where id = ${id}`;
  return row?.busy ?? false;
}
