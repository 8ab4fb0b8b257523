import { createServer } from 'node:net';
import { release } from 'node:os';
import type { Config } from './config.ts';
import { NoDatabase } from './database.ts';
import type { Check } from './doctor.check.ts';
import { waiting, withDatabase, withoutDatabase } from './doctor.platform.ts';
import { terminals } from './doctor.relay.ts';
import type { Log } from './kernel/base/log.ts';
import { migrationNames } from './kernel/db/applied.ts';
import { findDataDir } from './postgres/datadir.ts';
import { type Diagnosis, type Opened, openDiagnosis } from './resources.ts';
import { askGateway, findRunningProcesses, localUrl, type RunningProcess } from './running.ts';

/**
 * Checks the machine for what the platform needs (launch contract): what a running one checks of itself, and what only
 * a command beside it can. Changes nothing; an embedded server that does not run is started for as long as the check
 * takes.
 */
export async function doctor(config: Config, log: Log): Promise<Check[]> {
  const checks: Check[] = [runtime()];
  let opened: Opened<Diagnosis> | undefined;
  try {
    opened = await openDiagnosis(config, log);
    checks.push(...(await withDatabase(config, opened.value)));
  } catch (error) {
    if (error instanceof NoDatabase) checks.push(...notStartedYet(config));
    else checks.push(databaseFault(config, error as Error));
  } finally {
    await opened?.close();
  }
  const dataDir = findDataDir(config);
  const machine = await withoutDatabase(config, { dataDir, log });
  return [...checks, ...machine, await gatewayPort(config, findRunningProcesses(dataDir)), terminals()];
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
