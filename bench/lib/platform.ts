import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort, start } from './processes.ts';

/** Root of the clone. */
const root = resolve(import.meta.dirname, '../..');

/** The platform, started by `./svc up`: gateway, worker and embedded database. */
export interface Platform extends AsyncDisposable {
  readonly port: number;
  /** The gateway's process. */
  readonly pid: number;
  /** Milliseconds from the command to the first 200 of `/health/ready`. */
  readonly readyMs: number;
  /** The owner's API key; written on the first start of a data directory. */
  readonly key: string;
}

/** A data directory of its own, which is deleted at the end. */
export function temporaryDataDir(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), 'svc-bench-'));
  // Postgres drops to another user when this runs as root, and must be able to enter.
  chmodSync(path, 0o755);
  // What the platform had begun beside its start may end a moment after it.
  const terms = { recursive: true, force: true, maxRetries: 10, retryDelay: 300 };
  return { path, [Symbol.dispose]: () => rmSync(path, terms) };
}

/**
 * Starts the platform, or the parts that `args` say, on a free port with the default settings, except for those in
 * `env`.
 */
export async function startPlatform(
  dataDir: string,
  env: Record<string, string> = {},
  args: readonly string[] = [],
): Promise<Platform> {
  const port = await freePort();
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('SVC_'));
  const began = performance.now();
  const command = ['up', ...args, '--port', String(port), '--data-dir', dataDir];
  const running = start(join(root, 'svc'), command, { ...Object.fromEntries(inherited), ...env });
  const greeted = running.written(/svc is ready at [^]*?docs\n([^]*)/);
  const [readyMs] = await Promise.all([untilReady(port, began, greeted), greeted]);
  const keyFile = join(dataDir, 'owner.key');
  return {
    port,
    pid: running.pid,
    readyMs,
    key: existsSync(keyFile) ? readFileSync(keyFile, 'utf8').trim() : '',
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  };
}

/** Asks every 5 ms until the answer is 200; gives up when the platform did. */
async function untilReady(port: number, began: number, greeted: Promise<unknown>): Promise<number> {
  let failure: Error | undefined;
  greeted.catch((error: Error) => {
    failure = error;
  });
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${port}/health/ready`).catch(() => undefined);
    await answer?.arrayBuffer();
    if (answer?.status === 200) return performance.now() - began;
    if (failure) throw failure;
    await delay(5);
  }
}

/** A peer of `bench/peers`, under the same Node.js; `argument` is what it reads from its command line. */
export async function startPeer(name: string, argument = ''): Promise<AsyncDisposable & { port: number; pid: number }> {
  const running = start(process.execPath, [join(import.meta.dirname, `../peers/${name}.ts`), argument]);
  const [, port] = await running.written(/port (\d+)\n/);
  return { port: Number(port), pid: running.pid, [Symbol.asyncDispose]: () => running[Symbol.asyncDispose]() };
}
