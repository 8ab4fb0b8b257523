import { execFileSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { readFileSync, unlinkSync } from 'node:fs';
import { readFile, unlink } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { CommandError, errnoOf } from './failure.ts';
import { writePrivate } from './state.ts';

/** A held lock. */
export interface Lock {
  /** Gives it back; synchronous, so that it works while the process exits. Calling it twice does nothing. */
  release(): void;
}

const holderFile = z.object({ pid: z.int().positive(), started: z.string() });
/** A process, told apart from a later one of the same number. */
export type Holder = z.output<typeof holderFile>;

/**
 * Takes the lock file at `path` for this process; throws `CommandError` naming the process that holds it. A holder that
 * no longer runs (killed, machine restarted, pid given to another process) does not count.
 */
export async function acquireLock(path: string): Promise<Lock> {
  for (;;) {
    const content = JSON.stringify({
      pid: process.pid,
      started: processStart(process.pid) ?? '',
      nonce: randomUUID(),
    });
    if (await writePrivate(path, content, true)) return held(path, content);
    const found = await readFile(path, 'utf8').catch(() => undefined);
    if (found === undefined) continue;
    const holder = parseHolder(found);
    if (holder && isRunning(holder)) {
      throw new CommandError(`a host daemon already runs on this machine (pid ${holder.pid}, ${path})`);
    }
    await removeStale(path, found);
  }
}

/**
 * Removes a lock whose holder is dead. Only who holds the lock named after its content may: otherwise two processes
 * that saw the same stale lock could each remove it, the slower one removing the faster one's new lock.
 */
async function removeStale(path: string, content: string): Promise<void> {
  const digest = createHash('sha256').update(content).digest('hex').slice(0, 16);
  let reaping: Lock;
  try {
    reaping = await acquireLock(`${path}.${digest}`);
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    await sleep(20);
    return;
  }
  try {
    if ((await readFile(path, 'utf8').catch(() => undefined)) === content) await unlink(path);
  } finally {
    reaping.release();
  }
}

function held(path: string, content: string): Lock {
  return {
    release() {
      try {
        if (readFileSync(path, 'utf8') === content) unlinkSync(path);
      } catch (error) {
        if (errnoOf(error) !== 'ENOENT') throw error;
      }
    },
  };
}

function parseHolder(content: string): Holder | undefined {
  try {
    return holderFile.parse(JSON.parse(content));
  } catch {
    return undefined;
  }
}

/** The process that holds the lock file at `path`; undefined when none does. */
export async function lockHolder(path: string): Promise<number | undefined> {
  const holder = parseHolder(await readFile(path, 'utf8').catch(() => ''));
  return holder && isRunning(holder) ? holder.pid : undefined;
}

/** True while the process of that number is the one that was written down. */
export function isRunning(holder: Holder): boolean {
  const started = processStart(holder.pid);
  return started !== undefined && started === holder.started;
}

/**
 * When the process `pid` started, as a text that no other process of that number ever shares; undefined when none
 * runs. On Linux the boot and the clock ticks since then (a zombie does not run), elsewhere what `ps` says.
 */
export function processStart(pid: number): string | undefined {
  if (process.platform === 'linux') {
    try {
      // The command name is in parentheses and may hold anything: the fields after it start at the state (3).
      const status = readFileSync(`/proc/${pid}/stat`, 'utf8');
      const fields = status.slice(status.lastIndexOf(')') + 2).split(' ');
      if (fields[0] === 'Z' || fields[0] === 'X') return undefined;
      const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
      return `${boot}/${fields[19]}`;
    } catch {
      return undefined;
    }
  }
  try {
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8', stdio: 'pipe' }).trim();
  } catch {
    return undefined;
  }
}
