import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { settingsFileName } from './config.file.ts';
import type { Config } from './config.ts';
import type { Clock } from './kernel/base/clock.ts';
import { CommandError } from './kernel/base/command-error.ts';
import { type DatabaseTarget, openDatabase, type Sql } from './kernel/db/db.ts';
import type { Log } from './kernel/base/log.ts';
import {
  borrowPostgres,
  type EmbeddedPostgres,
  ensurePostgres,
  findRunning,
  isClosed,
  isStartedAsSaid,
  repairFolders,
  stopPostgres,
} from './postgres/embedded.ts';
import { isAlive } from './postgres/lock.ts';
import { findRunningProcesses } from './running.ts';

/** The database of a process, and how it lets go of it. */
export interface OpenTarget {
  target: DatabaseTarget;
  /** Stops the embedded server when nobody else uses it. */
  close: () => Promise<void>;
}

/** The database of the platform on the embedded server. */
export const databaseName = 'svc';
const superviseEveryMs = 1_000;
/** After a failed start the next one waits this long, then twice as long, and so on. */
const againAfterMs = { least: 1_000, most: 60_000 };
const mostLooks = 10;
const lookAgainMs = 20;

const byUrl = (url: string): OpenTarget => ({ target: { url }, close: () => Promise.resolve() });

/** The configured database, or the embedded one: created, started, kept running, stopped by the last that uses it. */
export async function openTarget(config: Config, dataDir: string, parts: Supervising): Promise<OpenTarget> {
  if (config.databaseUrl !== undefined) return byUrl(config.databaseUrl);
  let embedded = await ensurePostgres(dataDir);
  try {
    await createDatabase(embedded);
  } catch (error) {
    await stopUnused(embedded);
    throw error;
  }
  const stopSupervising = supervise(
    parts,
    dataDir,
    () => embedded,
    (revived) => (embedded = revived),
  );
  return {
    target: { embedded, database: databaseName },
    async close() {
      stopSupervising();
      await stopUnused(embedded);
    },
  };
}

/** The same for a command: it creates nothing, and runs the server of a platform that is down for its own time only. */
export async function borrowTarget(config: Config, dataDir: string): Promise<OpenTarget> {
  if (config.databaseUrl !== undefined) return byUrl(config.databaseUrl);
  if (findRunningProcesses(dataDir).some(({ database }) => database === 'url')) throw new OtherDatabase(dataDir);
  const embedded = await borrowPostgres(dataDir);
  if (!embedded) throw new NoDatabase(dataDir);
  return { target: { embedded, database: databaseName }, close: () => stopUnused(embedded) };
}

/** The platform that runs on the data dir was told of its database in an environment that this command does not share. */
class OtherDatabase extends CommandError {
  constructor(dataDir: string) {
    const file = join(dataDir, settingsFileName);
    super(`the platform of this data dir uses another database: set SVC_DATABASE_URL here too, or once in ${file}`);
  }
}

/** No platform has used the data directory yet. */
export class NoDatabase extends CommandError {
  constructor(dataDir: string) {
    super(
      `no platform was started with the data dir ${dataDir}; start it with ./svc up, or name another with --data-dir`,
    );
  }
}

/** Parts that keep the server running. */
interface Supervising {
  clock: Clock;
  log: Log;
  /** Has folders that the server needs opened again, where this process may not. */
  openFolders: () => void;
}

/** Starts the server again when it is gone, and opens its folders again when somebody closed them. */
function supervise(
  { clock, log, openFolders }: Supervising,
  dataDir: string,
  current: () => EmbeddedPostgres,
  revived: (embedded: EmbeddedPostgres) => void,
): () => void {
  let busy = false;
  let wait = againAfterMs.least;
  let notBefore = 0;
  let told: string | undefined;
  const look = async (): Promise<void> => {
    const opened = repairFolders(dataDir);
    if (opened.length > 0) log.warn({ folders: opened }, 'opened folders again that the database needs to enter');
    if (isAlive(current().pid) || clock.monotonic() < notBefore) return;
    if (told === undefined) log.warn('the embedded Postgres is gone; starting it again');
    revived(await ensurePostgres(dataDir));
    if (told !== undefined) log.info('the embedded Postgres runs again');
    [wait, told] = [againAfterMs.least, undefined];
  };
  const failed = (error: unknown): void => {
    const reason = error instanceof Error ? error.message : String(error);
    // One line for each reason: what fails every time says so once.
    log[reason === told ? 'debug' : 'error']({ reason, again_ms: wait }, 'the embedded Postgres did not start');
    told = reason;
    notBefore = clock.monotonic() + wait;
    wait = Math.min(wait * 2, againAfterMs.most);
  };
  return clock.every(superviseEveryMs, () => {
    // Also while a server is being started: one whose folders were closed meanwhile is never seen to be ready.
    if (isClosed(dataDir)) return openFolders();
    if (busy) return;
    busy = true;
    void look()
      .catch(failed)
      .finally(() => (busy = false));
  });
}

async function createDatabase(embedded: EmbeddedPostgres): Promise<void> {
  const sql = openDatabase({ embedded, database: 'postgres' }, 1);
  try {
    const known = await sql`select 1 from pg_database where datname = ${databaseName}`;
    if (known.length === 0) await sql.unsafe(`create database ${databaseName}`);
  } catch (error) {
    // 42P04, 23505: another process created it a moment ago.
    if (!['42P04', '23505'].includes((error as { code?: string }).code ?? '')) throw error;
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/**
 * Ends the embedded database that a platform which was killed left behind, where no platform runs on the data dir, unless somebody is
 * connected. Answers its pid when it ended.
 */
export async function endLeftDatabase(dataDir: string): Promise<number | undefined> {
  const embedded = findRunning(dataDir);
  if (!embedded || !isStartedAsSaid(dataDir, embedded.pid)) return undefined;
  // The lease of a process that was killed lives on for a while.
  if (findRunningProcesses(dataDir).length > 0 || !(await isLeftAlone(embedded).catch(() => false))) return undefined;
  await stopPostgres(embedded);
  return embedded.pid;
}

async function stopUnused(embedded: EmbeddedPostgres): Promise<void> {
  if (await isUnused(embedded)) await stopPostgres(embedded);
}

/** Whether nobody else is connected or holds a lease. A database that cannot be asked is left alone. */
async function isUnused(embedded: EmbeddedPostgres): Promise<boolean> {
  try {
    if ((await ask(embedded, databaseName, liveLeases)) > 0) return false;
    return await isLeftAlone(embedded);
  } catch {
    return false;
  }
}

/** Whether nobody else is connected. */
async function isLeftAlone(embedded: EmbeddedPostgres): Promise<boolean> {
  // Our own connections, closed a moment ago, may still be listed.
  for (let look = 0; look < mostLooks; look += 1) {
    if (look > 0) await delay(lookAgainMs);
    if ((await ask(embedded, 'postgres', othersConnected)) === 0) return true;
  }
  return false;
}

async function ask(
  embedded: EmbeddedPostgres,
  database: string,
  count: (sql: Sql) => Promise<number>,
): Promise<number> {
  const sql = openDatabase({ embedded, database }, 1);
  try {
    return await count(sql);
  } catch (error) {
    // 3D000, 42P01: without a database or its tables nobody holds a lease.
    if (['3D000', '42P01'].includes((error as { code?: string }).code ?? '')) return 0;
    throw error;
  } finally {
    await sql.end({ timeout: 1 });
  }
}

async function othersConnected(sql: Sql): Promise<number> {
  const [row] = await sql<{ others: number }[]>`
    select count(*) as others from pg_stat_activity
    where backend_type = 'client backend' and pid <> pg_backend_pid()`;
  return row?.others ?? 0;
}

async function liveLeases(sql: Sql): Promise<number> {
  const [row] = await sql<{ live: number }[]>`
    select count(*) as live from kernel.gateways where lease_until > now()`;
  return row?.live ?? 0;
}
