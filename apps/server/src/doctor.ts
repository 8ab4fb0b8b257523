import { randomUUID } from 'node:crypto';
import { readFile, statfs } from 'node:fs/promises';
import { createServer } from 'node:net';
import { release } from 'node:os';
import { NodeClient } from '@svc/sandboxd-api';
import type { Config } from './config.ts';
import { parseProviders } from './features/health/index.ts';
import { missingMigrations } from './kernel/db/migrate.ts';
import { openDataDir } from './postgres/datadir.ts';
import type { Log } from './kernel/log.ts';
import { type Diagnosis, type Opened, openDiagnosis } from './resources.ts';
import { sandboxdPlaces } from './sandboxd.ts';

/** One finding; `fix` says what to do about a fault. */
export interface Check {
  name: string;
  ok: boolean;
  found: string;
  fix?: string;
}

const leastFreeBytes = 1024 ** 3;

/**
 * Checks the machine for what the platform needs (launch contract). Changes nothing: it writes and deletes a blob of its
 * own, and an embedded server that does not run is started for as long as the check takes.
 */
export async function doctor(config: Config, log: Log): Promise<Check[]> {
  const checks: Check[] = [runtime()];
  let opened: Opened<Diagnosis> | undefined;
  try {
    opened = await openDiagnosis(config, log);
    checks.push(...(await withDatabase(config, opened.value)));
  } catch (error) {
    const fix = config.databaseUrl
      ? 'check SVC_DATABASE_URL and that the server runs'
      : 'see postgres.log in the data dir; on a platform without the embedded server set SVC_DATABASE_URL';
    checks.push({ name: 'database', ok: false, found: (error as Error).message, fix });
  } finally {
    await opened?.close();
  }
  checks.push(await gatewayPort(config), await providers(config), ...(await sandboxes(config)));
  return checks;
}

function runtime(): Check {
  const found = `Node.js ${process.version}, ${process.platform}-${process.arch}, kernel ${release()}`;
  const ok = Number(process.versions.node.split('.')[0]) >= 26;
  return { name: 'runtime', ok, found, ...(!ok && { fix: 'start through ./svc, which runs the pinned Node.js' }) };
}

/** Asks the node agent beside the gateway what it can run, and how far its images are. */
async function sandboxes(config: Config): Promise<Check[]> {
  const dataDir = openDataDir(config.dataDir, config.databaseUrl === undefined);
  const node = new NodeClient(sandboxdPlaces(config, dataDir).socket);
  try {
    const { backends, images } = await node.node();
    const runs = Object.entries(backends).map(([name, { available, reason }]): Check => {
      const found = available ? 'runs' : 'does not run here';
      return { name: `sandboxes ${name}`, ok: available, found, ...(reason !== undefined && { fix: reason }) };
    });
    const shown = images.map(({ template, state, progress }) =>
      state === 'building' ? `${template} ${Math.floor(progress * 100)} %` : `${template} ${state}`,
    );
    const failed = images.find(({ state }) => state === 'failed');
    const fix = failed && `${failed.step}; then ./svc images build ${failed.template}`;
    return [...runs, { name: 'images', ok: !failed, found: shown.join(', '), ...(fix !== undefined && { fix }) }];
  } catch {
    const fix =
      process.platform === 'linux'
        ? 'start the platform with ./svc up, or the node agent alone with ./svc up --only sandboxd'
        : 'sandboxes need Linux; run the platform there, or go on without them';
    return [{ name: 'sandboxes', ok: false, found: 'no node agent answers', fix }];
  } finally {
    node.close();
  }
}

async function withDatabase(config: Config, { sql, bus, blobs }: Diagnosis): Promise<Check[]> {
  const [server] = await sql<{ version: string; fsync: string }[]>`
    select current_setting('server_version') as version, current_setting('fsync') as fsync`;
  const major = Number.parseInt(server?.version ?? '0', 10);
  const durable = server?.fsync === 'on';
  const database: Check = {
    name: 'database',
    ok: major >= 15 && durable,
    found: `Postgres ${server?.version}, fsync ${server?.fsync}, ${config.databaseUrl ? 'by URL' : 'embedded'}`,
  };
  if (major < 15) database.fix = 'use Postgres 15 or newer';
  else if (!durable) database.fix = 'turn fsync on: without it a power cut loses what was acknowledged';
  return [
    database,
    await schema(sql),
    { name: 'bus', ok: bus.isUp(), found: config.natsUrl ? 'NATS' : 'LISTEN/NOTIFY' },
    await storage(config, blobs),
  ];
}

async function schema(sql: Diagnosis['sql']): Promise<Check> {
  const missing = await missingMigrations(sql);
  const found =
    missing.length === 0 ? 'that of this version' : `${missing.length} migrations wait for the next ./svc up`;
  return { name: 'schema', ok: true, found };
}

async function storage(config: Config, blobs: Diagnosis['blobs']): Promise<Check> {
  const name = `doctor/${randomUUID()}`;
  const where = config.s3 ? `S3 bucket ${config.s3.bucket}` : 'files in the data dir';
  try {
    await blobs.put(name, Buffer.from('svc doctor'));
    const size = await blobs.size(name);
    await blobs.delete(name);
    if (size !== 10) throw new Error(`read back ${size} of 10 bytes`);
    const disk = await statfs(config.dataDir ?? '.');
    const free = disk.bavail * disk.bsize;
    const found = `${where}; ${Math.round(free / 1024 ** 2)} MiB of disk free`;
    if (free < leastFreeBytes) return { name: 'storage', ok: false, found, fix: 'free at least 1 GiB of disk' };
    return { name: 'storage', ok: true, found };
  } catch (error) {
    const fix = config.s3 ? 'check the SVC_S3_… settings and the bucket' : 'make the data dir writable';
    return { name: 'storage', ok: false, found: (error as Error).message, fix };
  }
}

/** The port is free, or a gateway of ours answers on it. */
async function gatewayPort(config: Config): Promise<Check> {
  const name = 'port';
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const server = createServer();
  server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code));
  server.listen(config.port, config.host, () => server.close(() => resolve(undefined)));
  const code = await promise;
  if (code === undefined) return { name, ok: true, found: `${config.port} is free` };
  if (code !== 'EADDRINUSE')
    return {
      name,
      ok: false,
      found: `${config.host}:${config.port}: ${code}`,
      fix: 'choose another SVC_HOST or SVC_PORT',
    };
  try {
    const answer = await fetch(`${config.baseUrl}/health`, { signal: AbortSignal.timeout(2_000) });
    const body = (await answer.json()) as { ok?: unknown };
    if (body.ok === true) return { name, ok: true, found: `${config.port}: the platform runs` };
  } catch {
    // Something that is not ours: the fault below.
  }
  return { name, ok: false, found: `${config.port} is used by another program`, fix: 'choose another with --port' };
}

async function providers(config: Config): Promise<Check> {
  const name = 'providers';
  if (config.providersFile === undefined) return { name, ok: true, found: 'none configured' };
  try {
    const list = parseProviders(await readFile(config.providersFile, 'utf8'));
    return { name, ok: true, found: `${list.length} configured` };
  } catch (error) {
    return { name, ok: false, found: (error as Error).message, fix: 'mend the file that SVC_PROVIDERS names' };
  }
}
