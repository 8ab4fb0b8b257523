import { spawn } from 'node:child_process';

/** A held lock; Linux frees it when this process dies, however it dies. */
export interface Flock {
  /** Settles once another process can take it. */
  release(): Promise<void>;
}

/**
 * Takes the `flock` of a file, shared with every process of the machine; undefined when another holds it. Node.js
 * has no `flock`: the command holds it for as long as its stdin, our end of a pipe, is open.
 */
export function tryFlock(path: string): Promise<Flock | undefined> {
  return flockBy(path, ['-n', '-E', '75']);
}

/**
 * The same, waiting until it is free; undefined when `signal` aborted first. Rejects with `ENOENT` where the machine has
 * no `flock`.
 */
export function waitForFlock(path: string, signal: AbortSignal): Promise<Flock | undefined> {
  return flockBy(path, [], signal);
}

async function flockBy(path: string, options: readonly string[], signal?: AbortSignal): Promise<Flock | undefined> {
  const child = spawn('flock', [...options, path, 'sh', '-c', 'echo; exec cat >/dev/null'], {
    stdio: ['pipe', 'pipe', 'ignore'],
    // A signal to our group ends this process in its own time, and the lock with it.
    detached: true,
  });
  const closed = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const taken = new Promise<'taken'>((resolve) => child.stdout.once('data', () => resolve('taken')));
  const onAbort = () => void child.kill();
  signal?.addEventListener('abort', onAbort, { once: true });
  if (signal?.aborted) onAbort();
  const first = await Promise.race([taken, closed]);
  signal?.removeEventListener('abort', onAbort);
  if (first === 75 || signal?.aborted) {
    child.stdin.end();
    return undefined;
  }
  if (first !== 'taken') throw new Error(`cannot lock ${path}`);
  child.unref();
  // A process that ends leaves nothing open; one that only waits for its lock would never end.
  for (const stream of [child.stdin, child.stdout]) (stream as unknown as { unref?(): void }).unref?.();
  return {
    async release() {
      child.ref();
      child.stdin.end();
      await closed;
    },
  };
}
