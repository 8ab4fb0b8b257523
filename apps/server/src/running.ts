import { readdirSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { get as httpGet } from 'node:http';
import { get as httpsGet } from 'node:https';
import { join } from 'node:path';
import { isRunning, processStart } from '@svc/process-lock';
import { z } from 'zod';
import type { Given } from './config.ts';
import { readIfThere } from './postgres/lock.ts';
import { giveToPlatform } from './root/user.ts';
import { instanceHeader } from './kernel/base/version.ts';

const record = z.object({
  part: z.enum(['all', 'gateway', 'worker', 'relay', 'sandboxd']),
  pid: z.int().positive(),
  /** With the pid it tells the process apart from a later one of the same number. */
  started: z.string(),
  /** The folder that it was written for: in a copy of it the process is another's. Releases before did not say. */
  folder: z.string().optional(),
  path: z.string().optional(),
  instance_id: z.string(),
  since: z.string(),
  /** Where it listens; absent: it serves nothing. The URL of a relay is `{relay_url}`. */
  port: z.int().optional(),
  host: z.string().optional(),
  tls: z.boolean().optional(),
  base_url: z.string().optional(),
  /** Where its metrics and probes are. */
  probe_host: z.string().optional(),
  probe_port: z.int().optional(),
  database: z.enum(['embedded', 'url']),
  sandboxd_socket: z.string().optional(),
  /** Where its images are, when a setting says so. */
  images_dir: z.string().optional(),
});

/** A process of the platform as the data dir knows it. */
export type RunningProcess = z.output<typeof record>;

const first = 'running.json';
const anyName = /^running(?:\.\d+)?\.json$/;

/** The processes that run on a data dir; what a killed one left behind does not count. */
export function findRunningProcesses(dataDir: string): RunningProcess[] {
  return namesIn(dataDir)
    .map((name) => read(dataDir, name))
    .filter((found) => found !== undefined)
    .sort((a, b) => (a.since < b.since ? -1 : 1));
}

/** The settings of the platform that runs on a data dir of which links are made: a command need not be told them again. */
export function addressOfRunning(dataDir: string): Given {
  const serving = findRunningProcesses(dataDir).find(({ part }) => part === 'all' || part === 'gateway');
  if (serving?.port === undefined) return {};
  return { SVC_PORT: String(serving.port), ...(serving.base_url !== undefined && { SVC_BASE_URL: serving.base_url }) };
}

/**
 * Writes down that this process runs on the data dir: in `running.json`, or beside it while another process holds that.
 * Answers what takes it back.
 */
export function writeRunning(
  dataDir: string,
  about: Omit<RunningProcess, 'pid' | 'started' | 'folder' | 'path'>,
): () => void {
  const { pid } = process;
  for (const name of namesIn(dataDir)) if (!read(dataDir, name)) rmSync(join(dataDir, name), { force: true });
  const name = read(dataDir, first) ? `running.${pid}.json` : first;
  const own = {
    ...about,
    pid,
    started: processStart(pid) ?? '',
    folder: identityOf(dataDir),
    path: realpathSync(dataDir),
  };
  const text = `${JSON.stringify(own, undefined, 2)}\n`;
  const file = join(dataDir, name);
  rmSync(`${file}.new`, { force: true });
  writeFileSync(`${file}.new`, text, { mode: 0o600, flag: 'wx' });
  giveToPlatform(`${file}.new`);
  renameSync(`${file}.new`, file);
  return () => {
    // Another process may have taken the name since.
    if (read(dataDir, name)?.pid === pid) rmSync(file, { force: true });
  };
}

function namesIn(dataDir: string): string[] {
  try {
    return readdirSync(dataDir).filter((name) => anyName.test(name));
  } catch {
    return [];
  }
}

/** What a folder keeps when it is moved or seen by another path, and its copy has not. */
function identityOf(dataDir: string): string {
  const { dev, ino } = statSync(dataDir, { bigint: true });
  return `${dev}:${ino}`;
}

/** Undefined for a file that is damaged, that came with a copy of another data dir, or whose process is gone. */
function read(dataDir: string, name: string): RunningProcess | undefined {
  try {
    const found = record.safeParse(JSON.parse(readIfThere(join(dataDir, name)) ?? ''));
    if (!found.success || !isRunning(found.data)) return undefined;
    const { folder, path } = found.data;
    // Shares of a network may give a folder another inode later, and a copy has another path.
    const isOwn = folder === undefined || folder === identityOf(dataDir) || path === realpathSync(dataDir);
    return isOwn ? found.data : undefined;
  } catch {
    return undefined;
  }
}

/** An address on this machine that reaches a listener on `host`. */
export function localUrl({ host = '127.0.0.1', port = 0, tls = false }: Partial<RunningProcess>): string {
  const reached = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `${tls ? 'https' : 'http'}://${reached.includes(':') ? `[${reached}]` : reached}:${port}`;
}

const askMs = 2_000;

/** Asks a gateway on this machine; undefined when nothing answers, `instance` undefined when it is not one of ours. */
export function askGateway(
  url: string,
  path: string,
): Promise<{ status: number; instance: string | undefined } | undefined> {
  const { promise, resolve } = Promise.withResolvers<{ status: number; instance: string | undefined } | undefined>();
  // Its certificate is for its public name, not for this address.
  const options = { signal: AbortSignal.timeout(askMs), rejectUnauthorized: false };
  (url.startsWith('https:') ? httpsGet : httpGet)(url + path, options, (response) => {
    response.resume();
    const instance = response.headers[instanceHeader];
    resolve({ status: response.statusCode ?? 0, instance: typeof instance === 'string' ? instance : undefined });
  }).once('error', () => resolve(undefined));
  return promise;
}
