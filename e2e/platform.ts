import { type ChildProcess, execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { testedProgram } from '../packages/programs/src/testing.ts';
import { findRunning, stopPostgres } from '../apps/server/src/postgres/embedded.ts';

const root = resolve(import.meta.dirname, '..');
const svc = join(root, 'svc');

/** A process of the product, as a person starts it. */
export interface Running {
  process: ChildProcess;
  /** Standard output and error so far. */
  output(): string;
  /** Resolves once the output matches; fails when the process ends, and after a minute and a half. */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
  /** Sends the signal and resolves with the exit code, or the signal's name. */
  end(signal?: NodeJS.Signals): Promise<number | string>;
}

/** After this long a process hangs, on a busy machine too. */
const hangMs = 180_000;
const started = new Set<ChildProcess>();

/** Kills what a failed test left running. */
export function killAll(): void {
  for (const child of started) child.kill('SIGKILL');
}

/** The platform has no sandboxes: most tests need none, and a node of its own for each would be half of their time. */
export const noSandboxes = { SVC_SANDBOXD_SOCKET: '/nowhere/sandboxd.sock' };

/** The platform runs from its sources, as where no bundle of them can be made. */
export const fromSource = { SVC_TEST_SOURCE: '1' };

/** What a run that records which functions run gives to each program: `npm test -- --reach`. */
export function ofReach(): Record<string, string> {
  const { NODE_V8_COVERAGE: folder } = process.env;
  return folder === undefined ? {} : { ...fromSource, NODE_V8_COVERAGE: folder };
}

/** Starts `./svc …args`, of this clone unless another is named, as who runs the tests. Only the given settings are in its environment. */
export function start(
  args: readonly string[],
  environment: Record<string, string> = noSandboxes,
  program = svc,
  as: { uid?: number; gid?: number; cwd?: string } = {},
): Running {
  const { PATH = '', HOME = '' } = process.env;
  // Statements take long on a busy machine, and that is not what the tests are about.
  const env = { PATH, HOME, ...ofReach(), SVC_DATABASE_TIMEOUT_MS: '60000', ...environment };
  const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'], ...as });
  started.add(child);
  child.once('exit', () => started.delete(child));
  let text = '';
  const listeners = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      for (const listener of listeners) listener();
    });
  }
  const exited = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  return {
    process: child,
    output: () => text,
    printed(pattern) {
      const { promise, resolve: found, reject } = Promise.withResolvers<RegExpExecArray>();
      const look = (): void => {
        const match = pattern.exec(text);
        if (match) found(match);
      };
      const timer = setTimeout(() => reject(new Error(`no ${String(pattern)} in:\n${text}`)), hangMs);
      listeners.add(look);
      look();
      void exited.then(([code]) => reject(new Error(`ended with ${code}:\n${text}`)));
      return promise.finally(() => {
        clearTimeout(timer);
        listeners.delete(look);
      });
    },
    async end(signal = 'SIGTERM') {
      child.kill(signal);
      const [code, by] = await exited;
      return code ?? by ?? 'unknown';
    },
  };
}

/** Runs `./svc …args` to its end, by default as who runs the tests. */
export async function run(
  args: readonly string[],
  environment: Record<string, string> = {},
  as: { uid?: number; gid?: number } = {},
): Promise<{ code: number; stdout: string; stderr: string }> {
  const { PATH = '', HOME = '' } = process.env;
  const { promise, resolve: done } = Promise.withResolvers<{ code: number; stdout: string; stderr: string }>();
  const options = { env: { PATH, HOME, ...ofReach(), ...environment }, timeout: hangMs, ...as };
  execFile(svc, args, options, (error, stdout, stderr) => {
    const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
    done({ code, stdout, stderr });
  });
  return promise;
}

/**
 * Runs a command line as `./svc` does on a data dir, on connections of its own, but in this process: a tenth of the
 * processor time. Answers what it would print as JSON; fails as it would.
 */
export async function runHere(dataDir: string, ...line: string[]) {
  const [{ readConfig }, { createLog }, { openAdmin }, { addressOfRunning }, { svcOf }] = await Promise.all([
    import('../apps/server/src/config.read.ts'),
    import('../apps/server/src/kernel/base/log.ts'),
    import('../apps/server/src/resources.ts'),
    import('../apps/server/src/running.ts'),
    import('../apps/server/src/testing.commands.ts'),
  ]);
  const { config } = readConfig({ ...noSandboxes, SVC_DATA_DIR: dataDir }, addressOfRunning);
  const admin = await openAdmin(config, createLog('error'));
  try {
    return await svcOf({ kernel: admin.value })(...line);
  } finally {
    await admin.close();
  }
}

/** Runs `./svc …args` on a terminal of its own, saying y to every question; answers what was on its screen. */
export async function runOnTerminal(
  args: readonly string[],
  environment: Record<string, string> = {},
): Promise<{ code: number | null; screen: string }> {
  const { PATH = '', HOME = '' } = process.env;
  const words = [svc, ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
  // `script` makes the terminal.
  const child = spawn('script', ['-qec', words, '/dev/null'], {
    env: { PATH, HOME, ...environment },
    stdio: ['pipe', 'pipe', 'inherit'],
    timeout: hangMs,
  });
  let screen = '';
  let answered = 0;
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    screen += chunk;
    for (const asked = screen.split('[y/N]').length - 1; answered < asked; answered += 1) child.stdin.write('y\n');
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, screen };
}

/** A running platform with a data directory of its own. */
export interface Platform extends Running {
  url: string;
  dataDir: string;
  port: number;
  /** The owner's key; empty after the first start. */
  key: string;
}

/**
 * First starts of this process make and migrate their database themselves, for tests of just that, until what is
 * answered is called.
 */
export function makeRealClusters(): () => void {
  const { SVC_TEST_CLUSTER: prepared } = process.env;
  delete process.env['SVC_TEST_CLUSTER'];
  return () => {
    if (prepared !== undefined) process.env['SVC_TEST_CLUSTER'] = prepared;
  };
}

/** Lays a copy of a migrated cluster where a first start would make and migrate one: 2 s of processor time less. */
export function layCluster(dataDir: string, environment: Record<string, string> = {}, as: { uid?: number } = {}): void {
  const prepared = process.env['SVC_TEST_CLUSTER'];
  if (!prepared || environment['SVC_DATABASE_URL'] !== undefined || as.uid !== undefined || existsSync(dataDir)) return;
  mkdirSync(join(dataDir, '..'), { recursive: true });
  spawnSync('cp', ['-a', prepared, dataDir]);
}

/** Starts the platform and waits until it is ready; a first start also answers the key it made. */
export async function startPlatform(
  dataDir: string,
  port: number,
  environment: Record<string, string> = noSandboxes,
  as: { uid?: number; gid?: number; cwd?: string } = {},
): Promise<Platform> {
  layCluster(dataDir, environment, as);
  const running = start(['up', '--port', String(port), '--data-dir', dataDir], environment, svc, as);
  const [, url = ''] = await running.printed(/svc is ready at (\S+)/);
  const file = /^Your API key is in:\n {2}(.+)$/m.exec(running.output())?.[1];
  const key = file === undefined ? '' : readFileSync(file, 'utf8').trim();
  return { ...running, url, dataDir, port, key };
}

/** A data dir that a platform has used once, made at the first asking. */
interface UsedDataDir extends AsyncDisposable {
  /** Lays a copy of it there. */
  lay(dataDir: string): Promise<void>;
}

/** Makes a data dir that a platform has used once and left in order: a copy is files alone, and no start. */
export function usedDataDir(): UsedDataDir {
  const folder = temporaryFolder();
  const dataDir = join(folder.path, 'data');
  let made: Promise<unknown> | undefined;
  const make = async (): Promise<void> => void (await (await startPlatform(dataDir, await freePort())).end());
  return {
    async lay(to) {
      await (made ??= make());
      execFileSync('cp', ['-a', dataDir, to]);
    },
    [Symbol.asyncDispose]: folder.remove,
  };
}

const sandboxd = testedProgram(join(import.meta.dirname, '../apps/sandboxd/src/main.ts'));

/** A folder that is gone afterwards, with what of a platform that was killed still runs in it. */
export function temporaryFolder(): { path: string; remove(): Promise<void> } & AsyncDisposable {
  const path = mkdtempSync(join(tmpdir(), 'svc-e2e-'));
  // A database in a folder that others cannot enter is placed elsewhere when this runs as root, and would stay there.
  chmodSync(path, 0o755);
  const remove = async (): Promise<void> => {
    // A database outlives a platform that is killed, and one that ends while the lease of a killed one lasts.
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      const running = entry.isDirectory() ? findRunning(join(path, entry.name)) : undefined;
      if (running) await stopPostgres(running);
    }
    const folders = [path, ...readdirSync(path).map((name) => join(path, name))];
    // A node that was killed left its volume mounted. Where none ever ran there is nothing to end: 0.4 s of processor
    // time.
    for (const node of folders.map((folder) => join(folder, 'sandboxd')).filter(hasRun))
      spawnSync(process.execPath, [sandboxd, 'clear', '--dir', node], { stdio: 'ignore' });
    rmSync(path, { recursive: true, force: true });
  };
  return { path, remove, [Symbol.asyncDispose]: remove };
}

/** Whether a node agent ever kept sandboxes in this folder. */
const hasRun = (node: string): boolean => ['live', 'workspaces'].some((name) => existsSync(join(node, name)));

/** A port that was free a moment ago, with the two above it; below those that the system gives out by itself. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 12_000 + Math.floor(Math.random() * 18_000);
    const free = await Promise.all([port, port + 1, port + 2].map(isFree));
    if (free.every(Boolean)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const listening = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true));
  });
  if (listening) await new Promise((resolve) => server.close(resolve));
  return listening;
}
