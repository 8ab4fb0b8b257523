import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import type { AddressInfo } from 'node:net';
import { type App, buildApp } from './app.ts';
import { startBackups } from './backup/keeper.ts';
import { settleRestore } from './backup/staging.ts';
import { isAdopted } from './config.foreign.ts';
import { type Config, ConfigError, systemEnvironment } from './config.ts';
import { readRegistry } from './features/providers/index.ts';
import { checkCloudsFile } from './features/clouds/index.ts';
import { checkSpeechFile } from './features/speech/index.ts';
import { checkSources } from './features/tools/index.ts';
import { checkProviders, readinessOf } from './features/health/index.ts';
import { createSetupLink } from './features/auth/index.ts';
import { createOwner } from './features/keys/index.ts';
import { reachesAnybody } from './features/notifications/index.ts';
import { systemClock } from './kernel/base/clock.ts';
import { CommandError } from './kernel/base/command-error.ts';
import { type Role, wholeRole } from './kernel/feature.ts';
import type { Kernel } from './kernel/kernel.ts';
import { copyFix, copyText, settleHome } from './home.ts';
import { listenForProbes, type Probes } from './kernel/http/probes.ts';
import { instanceHeader } from './kernel/base/version.ts';
import { findDataDir, makeDataDir } from './postgres/datadir.ts';
import { claimStore } from './kernel/outside/blobs.marker.ts';
import { createLog, type Log } from './kernel/base/log.ts';
import { leaveClosedFolder } from './kernel/base/working-folder.ts';
import { addressesOf, greeting, keepForOwner, partGreeting } from './greeting.ts';
import { openKernel, storePlace } from './resources.ts';
import { manifests } from './features.ts';
import { liveGateways } from './kernel/peers/gateways.ts';
import type { Db, Sql } from './kernel/db/db.ts';
import { findRunningProcesses, localUrl, writeRunning } from './running.ts';
import { connectHelper } from './root/helper.client.ts';
import { prepareSandboxd } from './sandboxd.ts';
import { installMediaPackages } from './media-packages.ts';
import { checkSites } from './sites.ts';
import { type Supervised, superviseSandboxd } from './sandboxd.supervise.ts';

/** Which part of the platform a process runs; all of it by default. */
export type Part = 'all' | 'gateway' | 'worker' | 'relay' | 'sandboxd';

const roles: Readonly<Record<Exclude<Part, 'sandboxd'>, Role>> = {
  all: wholeRole,
  gateway: { serves: true, works: false, relays: true },
  worker: { serves: false, works: true, relays: false },
  relay: { serves: false, works: false, relays: true },
};

/** A shutdown is over within 10 s (launch contract); what is not done by then is handed back by lease or lost to its client. */
const shutdownLimitMs = 9_500;
/** A second Ctrl-C after this ends the process at once. */
const repeatedSignalMs = 1_000;
/** Requests that still run after the drain get this long. */
const lastRequestsMs = 2_000;

/** Runs the platform, or a part of it, in the foreground until SIGTERM or SIGINT. */
export async function up(
  config: Config,
  part: Part,
  options: { systemPackages: boolean; also: boolean; warnings: readonly string[] },
): Promise<void> {
  leaveClosedFolder();
  checkDataDir(config, part, options.also);
  const log = createLog(config.logLevel);
  for (const warning of options.warnings) log.warn(warning);
  // One signal often comes twice: a terminal sends it to the whole group, and a wrapper passes it on again. Without
  // a handler that stays, the second one would end the process in the middle of its drain.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => {});
  const failure = Promise.withResolvers<never>();
  const stopped = Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
  void stopped.then(() => limitShutdown(0));
  if (part === 'sandboxd') return await runNode(config, log, { stopped, ...options });
  checkProvidersFile(config);
  // A start that fails ends what it began, whatever it failed at: the node agent, the embedded database.
  await using running = new AsyncDisposableStack();
  const ended = (reason: string): void => {
    limitShutdown(1);
    failure.reject(new CommandError(reason));
  };
  // It may come before anybody waits for it.
  failure.promise.catch(() => {});
  const helper = await findHelper(ended, part, options, log);
  const { kernel, close, role } = await openPlatform(config, roles[part], { log, ended, helper });
  running.defer(close);
  await checkStore(kernel, roles[part]);
  let node: Supervised | undefined;
  // Probes answer until the end: a drain is seen by them.
  let probed: Awaited<ReturnType<typeof listenForMetrics>>;
  running.defer(() => probed?.listener.close());
  running.defer(() => node?.stop());
  const app = buildApp(kernel, role);
  running.defer(async () => {
    await app.drain();
    await closeHttp(app);
  });
  await app.start();
  const served = role.serves || role.relays ? await serve(app, kernel, role) : undefined;
  probed = await listenForMetrics(kernel, part, log);
  // A node that the settings name is run by somebody else; without Linux none can run.
  const isOurs = part === 'all' && config.sandboxdSocket === undefined && process.platform === 'linux';
  if (isOurs)
    node =
      helper?.startNode() ??
      superviseSandboxd(prepareSandboxd(config, kernel.dataDir, options), { ...kernel, env: systemEnvironment() });
  if (role.works) await kernel.jobs.start(app.jobs, { ...kernel, sql: kernel.background });
  else log.info('nothing that is due by the clock is done by this process');
  running.defer(
    writeRunning(kernel.dataDir, {
      part,
      ...aboutOf(config),
      ...served?.address,
      ...probed?.at,
      instance_id: kernel.gateways.id,
    }),
  );
  if (role.works) running.defer(await startBackups(kernel));
  await served?.greet();
  if (!role.serves) process.stdout.write(partGreeting(part, { ...served?.address, ...probed?.at }));
  // Not at the exit alone: one that is killed would leave the next start nothing. 0.1 s, once.
  flushCompileCache();
  await Promise.race([stopped, failure.promise]);
  log.info('shutting down');
}

/** Opens what the platform needs. A copy of one that is still there does nothing by itself. */
async function openPlatform(
  config: Config,
  role: Role,
  { log, ended, helper }: { log: Log; ended: (reason: string) => void; helper: Awaited<ReturnType<typeof findHelper>> },
) {
  let original: string | undefined;
  const prepared = async (sql: Sql, dataDir: string): Promise<void> => {
    original = await settleHome(sql, dataDir);
  };
  await checkSites(config);
  const openFolders = () => helper?.openFolders();
  const { value: kernel, close } = await openKernel(config, log, { ended, openFolders, prepared });
  if (original !== undefined) {
    log.error(`${copyText(original)}; ${copyFix}`);
    process.stdout.write(`${copyText(original)};\n${copyFix}\n`);
  }
  return { kernel, close, role: { ...role, ...(original !== undefined && { works: false, isCopy: true }) } };
}

/**
 * The process that stayed root; without one, this one sees to what reads recordings: gateways look at them, workers decode
 * them, relays have none.
 */
async function findHelper(
  ended: (reason: string) => void,
  part: Part,
  { systemPackages }: { systemPackages: boolean },
  log: Log,
): ReturnType<typeof connectHelper> {
  const helper = await connectHelper(ended);
  if (!helper && part !== 'relay' && process.platform === 'linux') void installMediaPackages(systemPackages, log);
  return helper;
}

/** Throws `CommandError` when the files of this part are not those of the platform; a relay has none. */
async function checkStore(kernel: Kernel, { serves, works }: Role): Promise<void> {
  if (serves || works) await claimStore(kernel, { where: storePlace(kernel), isUnused: hasNoBlobs(kernel) });
}

/** Whether a platform has stored nothing, and no other part of it runs that may be about to. */
const hasNoBlobs =
  ({ gateways }: Kernel) =>
  async (db: Db): Promise<boolean> => {
    if ((await liveGateways(db, gateways.id)).length > 0) return false;
    const stored = await Promise.all(manifests.map(async ({ hasBlobs }) => (await hasBlobs?.(db)) ?? false));
    return !stored.includes(true);
  };

/** Runs the node agent alone until it is stopped. */
async function runNode(
  config: Config,
  log: Log,
  options: { stopped: Promise<unknown>; systemPackages: boolean },
): Promise<void> {
  const dataDir = makeDataDir(config);
  const forget = writeRunning(dataDir, { part: 'sandboxd', ...aboutOf(config), instance_id: randomUUID() });
  const node = superviseSandboxd(prepareSandboxd(config, dataDir, options), {
    clock: systemClock,
    log,
    env: systemEnvironment(),
  });
  await options.stopped;
  await node.stop();
  forget();
}

/** Throws `CommandError` for a data dir on which this part cannot start. */
function checkDataDir(config: Config, part: Part, also: boolean): void {
  if (part === 'all' && !also) refuseSecond(config);
  settleRestore(findDataDir(config));
  if (part !== 'sandboxd') refuseRoot(config);
}

/** Throws for root on the data dir of another user, who could have made the change to that user fail (`root/start.ts`). */
function refuseRoot(config: Config): void {
  const folder = statSync(findDataDir(config), { throwIfNoEntry: false });
  if (process.getuid?.() !== 0 || process.platform !== 'linux' || !folder) return;
  if (!isAdopted(folder) && folder.uid === 0) return;
  throw new CommandError(`the platform does not run as root on ${findDataDir(config)}, which another user writes to`);
}

/** Throws when the platform runs on the data dir, and nobody asked for one more on a port of its own. */
function refuseSecond(config: Config): void {
  if (config.portIsSet) return;
  const other = findRunningProcesses(findDataDir(config)).find(({ part: running }) => running === 'all');
  if (!other) return;
  const where = other.port === undefined ? '' : ` at ${other.base_url ?? localUrl(other)}`;
  throw new CommandError(
    `the platform runs on this data dir: pid ${other.pid}${where}; one more beside it: svc up --also, or --port <port>`,
  );
}

/** Throws `ConfigError` for a file that cannot be used: a start does not run without what it names. */
function checkProvidersFile(config: Config): void {
  const place = { config, dataDir: findDataDir(config) };
  checkProviders(place);
  readRegistry(place);
  checkSources(place);
  checkSpeechFile(place);
  checkCloudsFile(place);
}

/**
 * Ends the process some time after the first signal, whatever hangs then: a start that waits for its database, a
 * connection that says nothing. It keeps no process that is done.
 */
function limitShutdown(exitCode: number): void {
  setTimeout(() => process.exit(exitCode), shutdownLimitMs).unref();
  const impatient = performance.now() + repeatedSignalMs;
  process.on('SIGINT', () => {
    if (performance.now() > impatient) process.exit(130);
  });
}

/** The facts of this process that commands read from its data dir. */
const aboutOf = ({ databaseUrl, sandboxdSocket, sandboxes: { imagesDir } }: Config) => ({
  since: new Date().toISOString(),
  database: databaseUrl === undefined ? ('embedded' as const) : ('url' as const),
  ...(sandboxdSocket !== undefined && { sandboxd_socket: sandboxdSocket }),
  ...(imagesDir !== undefined && { images_dir: imagesDir }),
});

/** Listens; answers where, and what greets the person who started it once all of it runs. A relay makes no owner. */
async function serve(app: App, kernel: Kernel, { serves }: Role) {
  const { config } = kernel;
  try {
    const at = { port: config.port, host: config.host };
    await app.http.doors.open(app.http.server, at, (options) => app.http.listen(options));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE') throw new ConfigError(`SVC_PORT: ${config.port} is in use; choose another with --port`);
    if (code === 'EADDRNOTAVAIL') throw new ConfigError(`SVC_HOST: ${config.host} is no address of this machine`);
    throw error;
  }
  const { port } = app.http.server.address() as AddressInfo;
  const url = serves ? config.baseUrl : config.relayUrl;
  const withPort = (text: string): string => (config.port === 0 ? text.replace(/:0(?=\/|$)/, `:${port}`) : text);
  const baseUrl = withPort(url);
  return {
    address: { port, host: config.host, tls: config.tls !== undefined, base_url: baseUrl },
    greet: async () => {
      if (!serves) return;
      // Last: of a start that fails, as where a port is taken, nobody learns the key, and the next one makes none.
      const owned = await createOwner(kernel);
      const reached = addressesOf({ ...config, baseUrl }, port);
      const email = config.ownerEmail;
      const isReached = await reachesAnybody(kernel, email);
      const owner = isReached === undefined ? undefined : { email, isReached };
      const link = owned && withPort(await createSetupLink(kernel, owned.accountId));
      const kept = keepForOwner(kernel.dataDir, 'link', link);
      process.stdout.write(greeting(reached, keepForOwner(kernel.dataDir, 'key', owned?.text), owner, kept));
    },
  };
}

/** Prometheus and probes, in every part; answers where. Unless it was asked for, a port that is taken is no fault. */
async function listenForMetrics(kernel: Kernel, part: Part, log: Log) {
  const { host, port, required } = kernel.config.metrics;
  if (port === 0) return undefined;
  const headers = { [instanceHeader]: kernel.gateways.id };
  const probes: Probes = {
    '/health': () => Promise.resolve({ status: 200, headers, body: { ok: true, part } }),
    async '/health/ready'() {
      const record = await readinessOf(kernel);
      return { status: record.ok ? 200 : 503, headers, body: record };
    },
  };
  try {
    const listener = await listenForProbes(kernel.metrics, { host, port, names: kernel.config.ownNames }, probes);
    return { listener, at: { probe_host: host, probe_port: listener.port } };
  } catch (error) {
    if (required) throw new ConfigError(`SVC_METRICS_PORT: ${host}:${port} cannot be listened on`);
    log.warn({ err: error, port }, 'no listener for metrics and probes; set SVC_METRICS_PORT to a free port');
    return undefined;
  }
}

async function closeHttp(app: App): Promise<void> {
  const closing = app.http.close();
  const limit = setTimeout(() => app.http.server.closeAllConnections(), lastRequestsMs);
  await closing;
  await app.http.doors.close();
  // Not cleared: a database connection that hangs must not keep the process.
  limit.unref();
}
