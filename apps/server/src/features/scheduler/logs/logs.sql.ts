import type { Db } from '../../../kernel/db/db.ts';
import type { Quota } from '../../../kernel/records/quotas.ts';

/** The log of a run: `bytes` of all its attempts, of which the first `stored_bytes` are a blob. */
export interface LogRow {
  run_id: string;
  account_id: string;
  bytes: number;
  stored_bytes: number;
  /** The attempt that wrote last, and where its text begins. */
  attempt: number;
  attempt_at: number;
}

const columns = (db: Db) => db`l.run_id, l.account_id, l.bytes, l.stored_bytes, l.attempt, l.attempt_at`;

/** Limit of the logs of an account. */
export const runLogBytesQuota: Quota = {
  name: 'run_log_bytes',
  what: 'bytes in the logs of its runs',
  remedy: 'logs are kept for 30 days; let commands write less',
  async count(db, accountId) {
    const [row] = await db<{ bytes: number }[]>`
      select coalesce(sum(bytes), 0)::bigint as bytes from scheduler.logs where account_id = ${accountId}`;
    return row?.bytes ?? 0;
  },
};

/** The log of a run, locked; made when it has none. */
export async function lockLog(
  db: Db,
  run: { id: string; account_id: string; attempt: number },
  now: string,
): Promise<LogRow> {
  await db`
    insert into scheduler.logs (run_id, account_id, attempt, created_at, updated_at)
    values (${run.id}, ${run.account_id}, ${run.attempt}, ${now}, ${now}) on conflict do nothing`;
  const [row] = await db<LogRow[]>`select ${columns(db)} from scheduler.logs l where l.run_id = ${run.id} for update`;
  return row as LogRow;
}

/** Adds to a locked log. */
export async function addPart(db: Db, log: LogRow, body: Uint8Array, now: string): Promise<void> {
  await db`insert into scheduler.log_parts (run_id, at, body) values (${log.run_id}, ${log.bytes}, ${Buffer.from(body)})`;
  await db`
    update scheduler.logs set bytes = bytes + ${body.length}, attempt = ${log.attempt}, attempt_at = ${log.attempt_at},
      updated_at = ${now}
    where run_id = ${log.run_id}`;
}

export async function findLog(db: Db, runId: string): Promise<LogRow | undefined> {
  const [row] = await db<LogRow[]>`select ${columns(db)} from scheduler.logs l where l.run_id = ${runId}`;
  return row;
}

/** Parts from a byte on, in order: those that begin before it too, when they go on after it. */
export async function listParts(
  db: Db,
  runId: string,
  from: number,
  limit: number,
): Promise<{ at: number; body: Buffer }[]> {
  return db`
    select at, body from scheduler.log_parts
    where run_id = ${runId} and at + length(body) > ${from}
      and at >= coalesce((select max(at) from scheduler.log_parts where run_id = ${runId} and at <= ${from}), 0)
    order by at limit ${limit}`;
}

/** Logs with parts that nothing was added to since an instant. */
export async function listLoose(db: Db, before: string, limit: number): Promise<LogRow[]> {
  return db<LogRow[]>`
    select ${columns(db)} from scheduler.logs l
    where l.bytes > l.stored_bytes and l.updated_at < ${before} order by l.updated_at limit ${limit}`;
}

/** Notes that a blob holds a log up to a byte, and drops the parts before it. */
export async function noteStored(db: Db, runId: string, bytes: number): Promise<void> {
  await db`update scheduler.logs set stored_bytes = ${bytes} where run_id = ${runId}`;
  await db`delete from scheduler.log_parts where run_id = ${runId} and at < ${bytes}`;
}

/** Logs that were begun before an instant. */
export async function listOldLogs(db: Db, before: string, limit: number): Promise<LogRow[]> {
  return db<LogRow[]>`
    select ${columns(db)} from scheduler.logs l where l.created_at < ${before} order by l.created_at limit ${limit}`;
}

export async function deleteLogs(db: Db, runIds: readonly string[]): Promise<void> {
  await db`delete from scheduler.logs where run_id = any(${[...runIds]}::uuid[])`;
}

/** Whether the log of a run is stored. */
export async function hasStoredLogs(db: Db): Promise<boolean> {
  const [row] = await db<{ yes: boolean }[]>`select exists (select from scheduler.logs where stored_bytes > 0) as yes`;
  return row?.yes ?? false;
}
