import { readFileSync, statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { takeLock } from '@svc/process-lock';

export { isAlive } from '@svc/process-lock';

/** A lock file that names no process, and is older than this, was left by one that died while it wrote it. */
const damagedMs = 5_000;

/**
 * Runs `work` while holding a lock file, so that two processes on one machine do not do it at once. A lock whose
 * process is gone is broken. Throws after `timeoutMs`.
 */
export async function withFileLock<T>(file: string, timeoutMs: number, work: () => Promise<T>): Promise<T> {
  const until = performance.now() + timeoutMs;
  for (;;) {
    const { lock } = await takeLock(file, damagedMs);
    if (lock) {
      try {
        return await work();
      } finally {
        lock.release();
      }
    }
    if (performance.now() > until) throw new Error(`${file} is held by another process; remove it if none is running`);
    await delay(20);
  }
}

/** The file's text, or undefined when it does not exist, or is no file: a pipe would be waited for. */
export function readIfThere(file: string): string | undefined {
  try {
    return statSync(file).isFile() ? readFileSync(file, 'utf8') : undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
