import { statSync } from 'node:fs';
import { createServer } from 'node:net';
import { release } from 'node:os';
import { isInstalling } from '@svc/sandboxd/system-packages';
import type { Config } from './config.ts';
import { NoDatabase } from './database.ts';
import { backups } from './doctor.backups.ts';
import type { Check } from './doctor.check.ts';
import { hub, providers, waiting, withDatabase } from './doctor.platform.ts';
import { relays, terminals } from './doctor.relay.ts';
import { sandboxes } from './doctor.sandboxes.ts';
import { MediaFiles, mediaCommand } from './features/media/index.ts';
import { systemClock } from './kernel/base/clock.ts';
import type { Log } from './kernel/base/log.ts';
import { migrationNames } from './kernel/db/applied.ts';
import { readFact } from './kernel/db/facts.ts';
import { findDataDir } from './postgres/datadir.ts';
import { type Diagnosis, type Opened, openDiagnosis } from './resources.ts';
import { askGateway, findRunningProcesses, localUrl, type RunningProcess } from './running.ts';

/**
 * Checks the machine for what the platform needs (launch contract). Changes nothing; an embedded server that does not
 * run is started for as long as the check takes.
 */
export async function doctor(config: Config, log: Log): Promise<Check[]> {
  const checks: Check[] = [runtime()];
  let opened: Opened<Diagnosis> | undefined;
  try {
    opened = await openDiagnosis(config, log);
    checks.push(...(await withDatabase(config, opened.value)));
    const installation = await readFact(opened.value.sql, 'installation').catch(() => undefined);
    checks.push(await backups(config, installation?.toString('hex') ?? ''));
  } catch (error) {
    if (error instanceof NoDatabase) checks.push(...notStartedYet(config));
    else checks.push(databaseFault(config, error as Error));
  } finally {
    await opened?.close();
  }
  const running = findRunningProcesses(findDataDir(config));
  checks.push(
    ...users(running),
    await gatewayPort(config, running),
    providers({ config, dataDir: findDataDir(config) }),
    await hub(findDataDir(config)),
    await recordings(config, log),
    ...(await relays(config, running)),
    terminals(),
    ...(await sandboxes(config, running)),
  );
  return checks;
}

function databaseFault(config: Config, { message: found }: Error): Check {
  const fix = config.databaseUrl
    ? 'check SVC_DATABASE_URL and that the server runs'
    : 'see postgres.log in the data dir; on a platform without the embedded server set SVC_DATABASE_URL';
  return { name: 'database', ok: false, found, fix };
}

/** Before the first start there is no database to look at, and a look makes none. */
function notStartedYet(config: Config): Check[] {
  return [
    { name: 'database', ok: true, found: `none yet; the first ./svc up makes it in ${findDataDir(config)}` },
    { name: 'schema', ok: true, found: waiting(migrationNames().length) },
  ];
}

function runtime(): Check {
  const found = `Node.js ${process.version}, ${process.platform}-${process.arch}, kernel ${release()}`;
  const ok = Number(process.versions.node.split('.')[0]) >= 26;
  return { name: 'runtime', ok, found, ...(!ok && { fix: 'start through ./svc, which runs the pinned Node.js' }) };
}

/** Which ffmpeg reads recordings, and whether a cage keeps strangers' files from the machine. */
async function recordings(config: Config, log: Log): Promise<Check> {
  const name = 'recordings';
  const { mediaScratchBytes: scratchBytes } = config;
  const { ffmpeg, cage } = await new MediaFiles({
    dataDir: findDataDir(config),
    scratchBytes,
    clock: systemClock,
    log,
  }).ready();
  if (ffmpeg === null && isInstalling()) return { name, ok: true, found: 'its packages are being installed' };
  if (ffmpeg === null) return { name, ok: false, found: 'no ffmpeg: transcripts cannot read them', fix: mediaCommand };
  const found = `ffmpeg ${ffmpeg}, cage: ${cage}`;
  if (cage === 'bwrap' || process.platform !== 'linux') return { name, ok: true, found };
  const fix = `without bubblewrap a fault of ffmpeg is one of this machine; ${mediaCommand}, and allow user namespaces`;
  return { name, ok: true, found, fix };
}

/** The user of a platform that was started as root where no user `svc` could be made. */
const nobody = 65_534;

/** Gateway and worker need nothing of root: one that has its rights could not leave them (`root/start.ts`). */
function users(running: readonly RunningProcess[]): Check[] {
  const name = 'user';
  const serving = running.filter(({ part }) => part !== 'sandboxd');
  if (serving.length === 0 || process.platform !== 'linux') return [];
  const isOf = (uid: number) =>
    serving.filter(({ pid }) => statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid === uid);
  const asRoot = isOf(0);
  if (asRoot.length === 0) {
    const shared = ' but nobody, whom other programs may be too: a user svc could not be made here';
    return [{ name, ok: true, found: `gateway and worker are not root${isOf(nobody).length > 0 ? shared : ''}` }];
  }
  const found = `pid ${asRoot.map(({ pid }) => pid).join(', ')} runs as root`;
  return [{ name, ok: false, found, fix: 'see the first line of its log, or start it as another user' }];
}

/** The platform of this data dir answers on its port, or the port is free for it. Another one's platform is a fault. */
async function gatewayPort(config: Config, running: readonly RunningProcess[]): Promise<Check> {
  const name = 'port';
  const serving = running.find(({ port }) => port !== undefined);
  const at = serving ?? { host: config.host, port: config.port, tls: config.tls !== undefined };
  const where = `${at.host}:${at.port}`;
  const answer = await askGateway(localUrl(at), '/health');
  if (serving) {
    const found = `${where}: the platform of this data dir (pid ${serving.pid})`;
    if (answer?.instance === serving.instance_id) return { name, ok: true, found };
    return { name, ok: false, found: `${found} does not answer`, fix: 'see its log, or start it again' };
  }
  if (answer?.instance !== undefined) {
    const fix = 'choose another port with SVC_PORT or --port, or name its data dir with --data-dir';
    return { name, ok: false, found: `${where}: the platform of another data dir`, fix };
  }
  const code = await listenError(config);
  if (code === undefined) return { name, ok: true, found: `${config.port} is free` };
  if (code === 'EADDRINUSE') {
    return { name, ok: false, found: `${config.port} is used by another program`, fix: 'choose another with --port' };
  }
  return { name, ok: false, found: `${where}: ${code}`, fix: 'choose another SVC_HOST or SVC_PORT' };
}

async function listenError({ port, host }: Config): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const server = createServer();
  server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code));
  server.listen(port, host, () => server.close(() => resolve(undefined)));
  return promise;
}
