import { join } from 'node:path';
import { type Config, ConfigError } from './config.ts';
import { type Blobs, openFileBlobs } from './kernel/blobs.ts';
import { type Bus, openPostgresBus } from './kernel/peers/bus.ts';
import { type Clock, systemClock } from './kernel/clock.ts';
import type { Admin } from './kernel/commands.ts';
import type { Kernel } from './kernel/kernel.ts';
import { createKeyring, type Keyring } from './kernel/crypto.ts';
import { openDataDir, readOrCreateSecret } from './postgres/datadir.ts';
import { type DatabaseTarget, openDatabase, requestDeadline, type Sql } from './kernel/db/db.ts';
import { type EmbeddedPostgres, ensurePostgres, stopPostgres } from './postgres/embedded.ts';
import { readOrCreateFact } from './kernel/db/facts.ts';
import { Gateways } from './kernel/peers/gateways.ts';
import { openJobs } from './kernel/jobs.ts';
import { createRateLimiter } from './kernel/http/limits.ts';
import { isAlive } from './postgres/lock.ts';
import type { Log } from './kernel/log.ts';
import { createMetrics } from './kernel/metrics.ts';
import { migrate } from './kernel/db/migrate.ts';
import { createOutbound } from './kernel/outbound.ts';
import { createEventStreams } from './kernel/http/sse.ts';
import { createUsageRecorder } from './kernel/usage.ts';

/** Resources that a command or a gateway opens, and how they are closed. */
export interface Opened<T> {
  value: T;
  close: () => Promise<void>;
}

const databaseName = 'svc';
const superviseEveryMs = 1_000;

/** Runs `work`; when it fails and the setting is set, the fault is told under the setting's name. */
async function orNamed<T>(setting: string, value: string | undefined, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (value === undefined) throw error;
    const reason = error instanceof Error ? error.message || String((error as { code?: unknown }).code) : String(error);
    throw new ConfigError(`${setting}: ${reason}`);
  }
}

/** Opens what an admin command needs: database (started when it does not run, migrated), bus, keyring. */
export async function openAdmin(config: Config, log: Log): Promise<Opened<Admin>> {
  const base = await openBase(config, log, { clock: systemClock, lease: false, poolSize: 2 });
  return { value: { config, log, ...base.value }, close: () => base.close() };
}

/** Opens everything a gateway or worker needs. Tests turn `clock` and give a database of their own. */
export async function openKernel(
  config: Config,
  log: Log,
  { clock = systemClock, database }: { clock?: Clock; database?: DatabaseTarget } = {},
): Promise<Opened<Kernel>> {
  const base = await openBase(config, log, { clock, lease: true, poolSize: 10, database });
  const { sql, dataDir, target } = base.value;
  const usage = createUsageRecorder(sql, clock, log);
  const streams = createEventStreams(clock);
  const metrics = createMetrics();
  const jobs = openJobs(target, log);
  const kernel: Kernel = {
    config,
    log,
    ...base.value,
    usage,
    streams,
    metrics,
    jobs,
    limiter: createRateLimiter(sql, clock),
    outbound: createOutbound(config, clock),
    blobs: await openBlobs(config, dataDir, clock),
  };
  return {
    value: kernel,
    async close() {
      streams.close();
      await Promise.all([jobs.close(), metrics.close(), usage.close()]);
      await base.close();
    },
  };
}

/** What `doctor` looks at. */
export interface Diagnosis {
  readonly sql: Sql;
  readonly bus: Bus;
  readonly blobs: Blobs;
}

/** Opens what is to be looked at, and changes none of it: no migration, no lease, no key. */
export async function openDiagnosis(config: Config, log: Log): Promise<Opened<Diagnosis>> {
  const dataDir = openDataDir(config.dataDir, config.databaseUrl === undefined);
  const database = await openTarget(config, dataDir, log, systemClock);
  const sql = openDatabase(database.target, 1);
  const bus = await openBus(config, database.target, systemClock, log);
  return {
    value: { sql, bus, blobs: await openBlobs(config, dataDir, systemClock) },
    async close() {
      await bus.close();
      await sql.end({ timeout: 2 });
      await database.close();
    },
  };
}

/** Files of the data dir, or S3, whose client is 30 MB of code and loaded only where it is used. */
async function openBlobs(config: Config, dataDir: string, clock: Clock): Promise<Blobs> {
  if (!config.s3) return openFileBlobs(join(dataDir, 'blobs'), clock.now());
  return (await import('./kernel/blobs.s3.ts')).openS3Blobs(config.s3);
}

/** On a connection of its own: a migration may take longer than what requests wait for. */
async function migrateOnce(target: DatabaseTarget): Promise<string[]> {
  const sql = openDatabase(target, 1);
  try {
    return await migrate(sql);
  } finally {
    await sql.end({ timeout: 2 });
  }
}

async function openBase(
  config: Config,
  log: Log,
  options: { clock: Clock; lease: boolean; poolSize: number; database?: DatabaseTarget | undefined },
) {
  const { clock, lease, poolSize } = options;
  const { dataDir: configured, databaseUrl } = config;
  const dataDir = await orNamed('SVC_DATA_DIR', configured, () => openDataDir(configured, databaseUrl === undefined));
  const database = options.database
    ? { target: options.database, close: () => Promise.resolve() }
    : await openTarget(config, dataDir, log, clock);
  const { target } = database;
  const applied = await orNamed('SVC_DATABASE_URL', config.databaseUrl, () => migrateOnce(target));
  const sql = openDatabase(target, poolSize, { deadline: requestDeadline });
  if (applied.length > 0) log.info({ applied }, 'migrations applied');
  const keyring = createKeyring(config.masterKey ?? readOrCreateSecret(join(dataDir, 'master.key')));
  await checkMasterKey(sql, keyring);
  const bus = await openBus(config, target, clock, log);
  const gateways = await Gateways.join({ sql, bus, clock, log, lease });
  return {
    value: { sql, bus, gateways, clock, keyring, dataDir, target },
    async close() {
      await gateways.close();
      await bus.close();
      await sql.end({ timeout: 2 });
      await database.close();
    },
  };
}

async function openBus(config: Config, target: DatabaseTarget, clock: Clock, log: Log): Promise<Bus> {
  if (config.natsUrl === undefined) return openPostgresBus(target, clock, log);
  const { openNatsBus } = await import('./kernel/peers/bus.nats.ts');
  const { natsUrl } = config;
  return orNamed('SVC_NATS_URL', natsUrl, () => openNatsBus(natsUrl, log));
}

/** The configured database, or the embedded one: started, kept running, and stopped by the last process that uses it. */
async function openTarget(config: Config, dataDir: string, log: Log, clock: Clock) {
  if (config.databaseUrl !== undefined) {
    const target: DatabaseTarget = { url: config.databaseUrl };
    return { target, close: () => Promise.resolve() };
  }
  let embedded = await ensurePostgres(dataDir);
  await createDatabase(embedded);
  const target: DatabaseTarget = { embedded, database: databaseName };
  let reviving = false;
  const stopSupervising = clock.every(superviseEveryMs, () => {
    if (reviving || isAlive(embedded.pid)) return;
    reviving = true;
    log.warn('the embedded Postgres is gone; starting it again');
    ensurePostgres(dataDir)
      .then((revived) => {
        embedded = revived;
      })
      .catch((err: unknown) => log.error({ err }, 'the embedded Postgres did not start'))
      .finally(() => {
        reviving = false;
      });
  });
  return {
    target,
    async close() {
      stopSupervising();
      if (await isUnused(embedded)) await stopPostgres(embedded);
    },
  };
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

/** Whether nobody else is connected or holds a lease. A database that cannot be asked is left alone. */
async function isUnused(embedded: EmbeddedPostgres): Promise<boolean> {
  const sql = openDatabase({ embedded, database: databaseName }, 1);
  try {
    const [row] = await sql<{ others: number }[]>`
      select (select count(*) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid())
        + (select count(*) from kernel.gateways where lease_until > now()) as others`;
    return row?.others === 0;
  } catch {
    return false;
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/** Keys and secrets are worthless under another master key; a mix-up is told at the start, not at the first 401. */
async function checkMasterKey(sql: Sql, keyring: Keyring): Promise<void> {
  const mark = keyring.mac('master-key-check', 'svc');
  const known = await readOrCreateFact(sql, 'master_key', () => mark);
  if (!known.equals(mark)) {
    throw new Error(
      'SVC_MASTER_KEY: the database was set up with another master key; set the one in the first data dir (master.key)',
    );
  }
}
