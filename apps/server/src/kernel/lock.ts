import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** Whether the process `pid` exists (it may belong to another user). */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * Runs `work` while holding a lock file, so that two processes on one machine do not do it at once. A lock whose
 * process is gone is broken. Throws after `timeoutMs`.
 */
export async function withFileLock<T>(file: string, timeoutMs: number, work: () => Promise<T>): Promise<T> {
  const until = performance.now() + timeoutMs;
  while (!tryLock(file)) {
    if (performance.now() > until) throw new Error(`${file} is held by another process; remove it if none is running`);
    await delay(20);
  }
  try {
    return await work();
  } finally {
    rmSync(file, { force: true });
  }
}

function tryLock(file: string): boolean {
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    const holder = Number(readIfThere(file));
    if (Number.isInteger(holder) && holder > 0 && !isAlive(holder)) rmSync(file, { force: true });
    return false;
  }
}

/** The file's text, or undefined when it does not exist. */
export function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
