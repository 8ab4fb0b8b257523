import { join } from 'node:path';
import { resolveHere, resolvePublicAt } from '@svc/netguard';
import { type Config, ConfigError } from './config.ts';
import { type Blobs, openFileBlobs } from './kernel/outside/blobs.ts';
import { type Bus, openPostgresBus } from './kernel/peers/bus.ts';
import { createAuditRecorder } from './kernel/records/audit.ts';
import { type Clock, systemClock } from './kernel/base/clock.ts';
import type { Admin } from './kernel/commands.ts';
import { CommandError } from './kernel/base/command-error.ts';
import type { Kernel } from './kernel/kernel.ts';
import type { Keyring } from './kernel/base/crypto.ts';
import { masterKeyFile, openKeyring, reasonToEnd } from './master-key.ts';
import { borrowTarget, type OpenTarget, openTarget } from './database.ts';
import { findDataDir, openDataDir, readOrCreateSecret, readSecret } from './postgres/datadir.ts';
import { fairPool } from './kernel/db/fair.ts';
import { type DatabaseTarget, openDatabase, type Sql, type Use } from './kernel/db/db.ts';
import { asApplication, prepareApplicationRole } from './kernel/db/role.ts';
import { Gateways, notProven } from './kernel/peers/gateways.ts';
import { openJobs } from './kernel/work/jobs.ts';
import { Pulse } from './kernel/work/pulse.ts';
import { createRateLimiter } from './kernel/share/limits.ts';
import type { Log } from './kernel/base/log.ts';
import { type MachineId, readMachineId } from './kernel/base/machine-id.ts';
import { createMetrics } from './kernel/base/metrics.ts';
import { requireSchema } from './kernel/db/applied.ts';
import { migrate } from './kernel/db/migrate.ts';
import { createOutbound } from './kernel/outside/outbound.ts';
import { DeviceStreams } from './kernel/streams/device-streams.ts';
import { openFeed } from './kernel/streams/feed.ts';
import { createEventStreams } from './kernel/streams/sse.ts';
import { createUpstream } from './kernel/outside/upstream.ts';
import { createUsageRecorder } from './kernel/records/usage.ts';

/** Resources that a command or a gateway opens, and how they are closed. */
export interface Opened<T> {
  value: T;
  close: () => Promise<void>;
}

/** For what nobody waits for: a long statement or transaction there is in the way of no request. */
const backgroundPool = 2;

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

/**
 * Opens what an admin command needs: database (started when it does not run), bus, keyring. It applies no migration,
 * creates no file and changes no mode; a database that lacks migrations is an error that says what to do.
 */
export async function openAdmin(config: Config, log: Log): Promise<Opened<Admin>> {
  await using opening = new AsyncDisposableStack();
  const clock = systemClock;
  const { dataDir, target, sql } = await borrowDatabase(config, opening, 2);
  await orNamed('SVC_DATABASE_URL', config.databaseUrl, () => requireSchema(sql));
  const keyring = await knownKeyring(config, dataDir, sql);
  const bus = opening.adopt(await openBus(config, target, clock, log), (open) => open.close());
  const gateways = await Gateways.join({ sql, bus, clock, log, lease: false });
  opening.defer(() => gateways.close());
  const stack = opening.move();
  const blobs = await openBlobs(config, dataDir);
  return { value: { config, log, sql, bus, gateways, clock, keyring, blobs }, close: () => stack.disposeAsync() };
}

/**
 * Opens everything a gateway or worker needs. Tests turn `clock` and give a database of their own. `ended` is called when
 * the process must not go on: nothing is sealed or opened any more then.
 */
export async function openKernel(
  config: Config,
  log: Log,
  {
    clock = systemClock,
    database,
    isMigrated = false,
    ended = () => {},
    openFolders = () => {},
    prepared,
    machine,
  }: KernelOptions = {},
): Promise<Opened<Kernel>> {
  // A failure in here ends all that was opened before it, the embedded server too.
  await using opening = new AsyncDisposableStack();
  const base = await openBase(config, log, {
    clock,
    database,
    isMigrated,
    ended,
    openFolders,
    prepared,
    opening,
  });
  const { sql, background, dataDir } = base;
  const metrics = createMetrics();
  const usage = opening.adopt(createUsageRecorder(background, clock, log, metrics), (open) => open.close());
  const audit = opening.adopt(createAuditRecorder(background, clock, log, metrics), (open) => open.close());
  const jobs = opening.adopt(openJobs({ sql: background, clock, log, pulse: base.pulse }), (open) => open.close());
  const streams = opening.adopt(createEventStreams(clock), (open) => open.close());
  const { bus, gateways } = base;
  const deviceStreams = opening.adopt(new DeviceStreams({ sql: background, gatewayId: gateways.id, log }), (open) =>
    open.close(),
  );
  const feed = opening.adopt(await openFeed({ sql, background, bus, gateways, log, metrics }), (open) => open.close());
  const kernel: Kernel = {
    config,
    log,
    machine: machine ?? readMachineId(),
    ...base,
    usage,
    audit,
    streams,
    deviceStreams,
    feed,
    metrics,
    readiness: new Map(),
    jobs,
    limiter: createRateLimiter(sql, clock),
    outbound: createOutbound(config, clock, { public: resolvePublicAt(config.dnsServers), here: resolveHere }),
    upstream: opening.adopt(createUpstream(), (open) => open.close()),
    blobs: await openBlobs(config, dataDir, clock),
  };
  const stack = opening.move();
  return { value: kernel, close: () => stack.disposeAsync() };
}

/** See `openKernel`. */
interface KernelOptions {
  clock?: Clock;
  database?: DatabaseTarget;
  /** Whoever gives the database has seen that it has all migrations of this build. */
  isMigrated?: boolean;
  ended?: (reason: string) => void;
  /** Has folders of the data dir opened again, where the process that stays root can. */
  openFolders?: () => void;
  /** Looks at the database of an embedded server before anything of this process is written to it. */
  prepared?: (sql: Sql, dataDir: string) => Promise<void>;
  /** Tests name others than the one they run on. */
  machine?: MachineId;
}

/** The parts that `doctor` looks at. */
export interface Diagnosis {
  readonly sql: Sql;
  readonly bus: Bus;
  readonly blobs: Blobs;
  readonly dataDir: string;
  readonly machine: MachineId;
}

/** Opens what is to be looked at, and changes none of it: no migration, no lease, no key, no file. */
export async function openDiagnosis(config: Config, log: Log): Promise<Opened<Diagnosis>> {
  await using opening = new AsyncDisposableStack();
  const { dataDir, target, sql } = await borrowDatabase(config, opening, 1);
  const bus = opening.adopt(await openBus(config, target, systemClock, log), (open) => open.close());
  const value = { sql, bus, blobs: await openBlobs(config, dataDir), dataDir, machine: readMachineId() };
  const stack = opening.move();
  return { value, close: () => stack.disposeAsync() };
}

async function borrowDatabase(config: Config, opening: AsyncDisposableStack, poolSize: number) {
  const dataDir = findDataDir(config);
  const { target, close } = await borrowTarget(config, dataDir);
  opening.defer(close);
  const sql = opening.adopt(openDatabase(target, poolSize), (pool) => pool.end({ timeout: 2 }));
  return { dataDir, target, sql };
}

/** The store of a platform in words. */
export const storePlace = ({ config, dataDir }: { config: Config; dataDir: string }): string =>
  config.s3 ? `S3 bucket ${config.s3.bucket}` : join(dataDir, 'blobs');

/** Files of the data dir, or S3, whose client is 30 MB of code and loaded only where it is used. */
export async function openBlobs(config: Config, dataDir: string, clock?: Clock): Promise<Blobs> {
  if (!config.s3) return openFileBlobs(join(dataDir, 'blobs'), clock?.now());
  return (await import('./kernel/outside/blobs.s3.ts')).openS3Blobs(config.s3, join(dataDir, 'unsent'));
}

/**
 * As the owner, and on connections of its own: a migration may take longer than what requests wait for. `say` gets a sentence for
 * whom it waits. Answers what was applied.
 */
export async function prepareDatabase(target: DatabaseTarget, say: (what: string) => void): Promise<string[]> {
  const sql = openDatabase(target, 2);
  try {
    const applied = await migrate(sql, { say });
    if ('embedded' in target) await prepareApplicationRole(sql);
    return applied;
  } finally {
    await sql.end({ timeout: 2 });
  }
}

async function openBase(
  config: Config,
  log: Log,
  options: Required<Pick<KernelOptions, 'clock' | 'ended' | 'openFolders' | 'isMigrated'>> & {
    database: DatabaseTarget | undefined;
    prepared: KernelOptions['prepared'];
    opening: AsyncDisposableStack;
  },
) {
  const { clock, ended, openFolders, opening } = options;
  const dataDir = await orNamed('SVC_DATA_DIR', config.dataDir, () => openDataDir(config));
  const database: OpenTarget = options.database
    ? { target: options.database, close: () => Promise.resolve() }
    : await openTarget(config, dataDir, { log, clock, openFolders });
  opening.defer(database.close);
  const applied = options.isMigrated
    ? []
    : await orNamed('SVC_DATABASE_URL', config.databaseUrl, () =>
        prepareDatabase(database.target, (what) => log.info(what)),
      );
  if (options.prepared && 'embedded' in database.target) {
    const first = openDatabase(database.target, 1);
    try {
      await options.prepared(first, dataDir);
    } finally {
      await first.end({ timeout: 2 });
    }
  }
  const target = asApplication(database.target);
  if (applied.length > 0) log.info({ count: applied.length, last: applied.at(-1) }, 'migrations applied');
  const open = (use: Use, most: number): Sql => {
    const pool = openDatabase(target, most, { deadline: config.databaseDeadline, use });
    return opening.adopt(pool, (opened) => opened.end({ timeout: 2 }));
  };
  // One more, for what is asked beside a transaction.
  const sql = fairPool(Array.from({ length: config.databasePool + 1 }, () => open('requests', 1)));
  const background = open('background', backgroundPool);
  // A silence of the bus is real, whatever a test's clock says: a turn of it must not count a message as lost.
  const bus = opening.adopt(await openBus(config, target, systemClock, log), (open) => open.close());
  const pulse = new Pulse(clock);
  const gateways = await Gateways.join({ sql, bus, clock, log, pulse, lease: true });
  opening.defer(() => gateways.close());
  // With its lease: a rotation of the key waits for none that starts, and starts none that has the key before.
  const masterKey = config.masterKey ?? readOrCreateSecret(join(dataDir, masterKeyFile));
  const opened = await openKeyring(sql, masterKey, { dataDir, isFirst: true });
  // A process that was frozen while the key was rotated comes back with the one before in its memory.
  await gateways.guard(
    () => reasonToEnd(sql, masterKey),
    (reason) => {
      log.fatal(reason);
      ended(reason);
    },
  );
  return { sql, background, bus, gateways, pulse, clock, keyring: guarded(opened, gateways), dataDir };
}

/** Seals and opens nothing while the process may hold another key than the database: callers `prove` before. */
function guarded(keyring: Keyring, gateways: Gateways): Keyring {
  const proven = (): Keyring => {
    if (!gateways.isProven()) throw notProven();
    return keyring;
  };
  return {
    mac: (purpose, data) => keyring.mac(purpose, data),
    seal: (as, plain) => proven().seal(as, plain),
    open: (as, sealed) => proven().open(as, sealed),
  };
}

async function openBus(config: Config, target: DatabaseTarget, clock: Clock, log: Log): Promise<Bus> {
  if (config.natsUrl === undefined) return openPostgresBus(target, clock, log, config.databaseDeadline);
  const { openNatsBus } = await import('./kernel/peers/bus.nats.ts');
  const { natsUrl } = config;
  return orNamed('SVC_NATS_URL', natsUrl, () => openNatsBus(natsUrl, log));
}

/** The platform's keyring, for a command. Without the master key only what needs it fails. */
async function knownKeyring(config: Config, dataDir: string, sql: Sql): Promise<Keyring> {
  const masterKey = config.masterKey ?? readSecret(join(dataDir, masterKeyFile));
  if (masterKey === undefined) {
    const none = (): never => {
      throw new CommandError(`this needs the master key: set SVC_MASTER_KEY, or --data-dir to the dir with master.key`);
    };
    return { mac: none, seal: none, open: none };
  }
  return openKeyring(sql, masterKey, { dataDir });
}
