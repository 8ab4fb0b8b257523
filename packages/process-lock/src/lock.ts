import { createHash, randomUUID } from 'node:crypto';
import { readFileSync, statSync, unlinkSync } from 'node:fs';
import { link, readdir, readFile, rm, unlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive, isRunning, processStart } from './processes.ts';

/** A held lock. */
export interface Lock {
  /** Gives it back; synchronous, so that it works while the process exits. Calling it twice does nothing. */
  release(): void;
}

/** Result of taking a lock: the lock, or the pid of the process that holds it, where the file names one. */
export type Taken = { lock: Lock; holder?: undefined } | { lock?: undefined; holder: number | undefined };

interface Holder {
  pid: number;
  /** Undefined in files that hold nothing but the pid, as earlier versions wrote them. */
  started: string | undefined;
}

const pollMs = 20;

/**
 * Takes the lock file at `path` for this process; answers the process that holds it when one does. A holder that no
 * longer runs (killed, machine restarted, pid given to another process) does not count. A file that names no process is
 * damaged: it is removed once it is `damagedMs` old; until then some process may be writing it, and `holder` is
 * undefined.
 */
export async function takeLock(path: string, damagedMs = 0): Promise<Taken> {
  const content = JSON.stringify({ pid: process.pid, started: processStart(process.pid) ?? '', nonce: randomUUID() });
  for (;;) {
    const found = await readIfThere(path);
    if (found === undefined) {
      if (!(await create(path, content))) continue;
      await sweepTemporary(path);
      return { lock: held(path, content) };
    }
    if (unreleased.delete(found)) {
      await removeOwn(path, found);
      continue;
    }
    const holder = parseHolder(found);
    if (holder ? runs(holder) : isYounger(path, damagedMs)) return { holder: holder?.pid };
    await removeStale(path, found);
  }
}

/** The process that holds the lock file at `path`; undefined when none does. */
export async function lockHolder(path: string): Promise<number | undefined> {
  const holder = parseHolder((await readFile(path, 'utf8').catch(() => undefined)) ?? '');
  return holder && runs(holder) ? holder.pid : undefined;
}

/** Makes the file, whole from its first instant on; false when it is there. A link fails where a rename would not. */
async function create(path: string, content: string): Promise<boolean> {
  const temporary = `${path}.${randomUUID()}.tmp`;
  try {
    await writeFile(temporary, content, { flag: 'wx', mode: 0o600 });
    await link(temporary, path);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(temporary, { force: true });
  }
}

/** Of a process that writes one now. */
const temporaryMs = 60_000;

/** Removes what processes left that were killed while they took the lock, or another one's. Nothing depends on it. */
async function sweepTemporary(path: string): Promise<void> {
  const [folder, begin] = [dirname(path), `${basename(path)}.`];
  for (const name of await readdir(folder).catch(() => [])) {
    if (!name.startsWith(begin)) continue;
    const rest = name.slice(begin.length);
    const isTemporary = /^[0-9a-f-]{36}\.tmp$/.test(rest) || /^[0-9a-f]{16}(?:\.[0-9a-f-]{36}\.tmp)?$/.test(rest);
    const left = join(folder, name);
    if (isTemporary && !isYounger(left, temporaryMs)) await rm(left, { force: true }).catch(() => {});
  }
}

/**
 * Removes a lock whose holder is dead. Only the process that holds the lock named after its content may: otherwise two
 * that saw the same stale lock could each remove it, the slower one removing the faster one's new lock.
 */
async function removeStale(path: string, content: string): Promise<void> {
  const digest = createHash('sha256').update(content).digest('hex').slice(0, 16);
  const { lock } = await takeLock(`${path}.${digest}`);
  if (!lock) {
    await sleep(pollMs);
    return;
  }
  try {
    if ((await readIfThere(path)) === content) await unlink(path);
  } finally {
    lock.release();
  }
}

/** Of two that see it one removes it: by the time of the other somebody may hold the lock again. */
async function removeOwn(path: string, content: string): Promise<void> {
  try {
    await rm(path, { force: true });
  } catch (error) {
    unreleased.add(content);
    throw error;
  }
}

/**
 * What the files say of locks that this process gave back while it could not reach them: nobody else may take
 * those.
 */
const unreleased = new Set<string>();

function held(path: string, content: string): Lock {
  return {
    release() {
      try {
        if (readFileSync(path, 'utf8') === content) unlinkSync(path);
      } catch (error) {
        if (codeOf(error) === 'ENOENT') return;
        unreleased.add(content);
        throw error;
      }
    },
  };
}

function parseHolder(content: string): Holder | undefined {
  try {
    const value = JSON.parse(content) as { pid?: unknown; started?: unknown } | number | null;
    const { pid, started } = typeof value === 'number' ? { pid: value, started: undefined } : (value ?? {});
    if (!Number.isSafeInteger(pid) || (pid as number) <= 0) return undefined;
    if (typeof value !== 'number' && typeof started !== 'string') return undefined;
    return { pid: pid as number, started: started as string | undefined };
  } catch {
    return undefined;
  }
}

const runs = ({ pid, started }: Holder): boolean =>
  started === undefined ? isAlive(pid) : isRunning({ pid, started });

function isYounger(path: string, ms: number): boolean {
  const written = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
  return ms > 0 && written !== undefined && Date.now() - written <= ms;
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;
