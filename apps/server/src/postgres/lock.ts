import { linkSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
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

/** A lock file without a pid this old was left by a process that died between creating and writing it. */
const unwrittenMs = 5_000;

function tryLock(file: string): boolean {
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    if (isStale(file)) breakLock(file);
    return false;
  }
}

function isStale(file: string): boolean {
  const holder = Number(readIfThere(file) || Number.NaN);
  if (holder > 0) return !isAlive(holder);
  const written = statSync(file, { throwIfNoEntry: false })?.mtimeMs;
  return written !== undefined && Date.now() - written > unwrittenMs;
}

/** Several may want to break it at once: the one whose rename succeeds does, and gives back a lock that is not stale. */
function breakLock(file: string): void {
  const aside = `${file}.${process.pid}`;
  try {
    renameSync(file, aside);
    if (!isStale(aside)) linkSync(aside, file);
  } catch (error) {
    if (!['ENOENT', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  } finally {
    rmSync(aside, { force: true });
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
