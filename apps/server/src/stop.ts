import { readFileSync, readlinkSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isAlive, isRunning, lockHolder, processStart } from '@svc/process-lock';
import type { Config } from './config.ts';
import { endLeftDatabase } from './database.ts';
import { CommandError } from './kernel/base/command-error.ts';
import { findDataDir } from './postgres/datadir.ts';
import { findRunning } from './postgres/embedded.ts';
import { platformUser } from './root/user.ts';
import { findRunningProcesses } from './running.ts';

/** A drain takes 10 s at most; on a busy machine a little more. */
const endMs = 30_000;
const lookEveryMs = 50;

/** The result of `svc stop`. */
interface Stopped {
  stopped: { part: string; pid: number }[];
  /** What goes on without the platform, and how it ends. */
  left: string[];
}

/**
 * As root the record of a process is another user's word: throws `CommandError` for a pid that is neither that user's own nor a
 * process of svc that stayed root.
 */
function requireOurs(dataDir: string, pid: number): void {
  if (process.getuid?.() !== 0 || process.platform !== 'linux') return;
  try {
    const { uid } = statSync(`/proc/${pid}`);
    const users = [statSync(dataDir).uid, platformUser()?.uid];
    if (uid === 0 ? isSvc(pid) : users.includes(uid)) return;
  } catch {
    // It ended meanwhile.
    if (!isAlive(pid)) return;
  }
  throw new CommandError(`pid ${pid}, which ${dataDir} names, is no process of the platform: nothing was done to it`);
}

/** Whether a process of root is Node.js with a program of svc: what it was started with nobody but root chose. */
function isSvc(pid: number): boolean {
  const program = basename(readlinkSync(`/proc/${pid}/exe`).replace(/ \(deleted\)$/, ''));
  const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  return (
    program.startsWith('node') &&
    line.some((part) => /\/(?:apps\/(?:server|sandboxd)|packages\/programs|\.cache\/bundles)\//.test(part))
  );
}

/** Whether a process is a start of the platform, and no command beside it; true where nobody can tell. */
function isStart(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes('up');
  } catch {
    return true;
  }
}

/**
 * Waits for a start that brings up its database, which no record names yet, until it runs or ended; else it would run
 * on. A command that starts the database is waited for until it did. Throws `CommandError` when that takes too long.
 */
async function waitForStart(dataDir: string, say: (line: string) => void): Promise<void> {
  const lock = join(dataDir, 'start.lock');
  const pid = await lockHolder(lock);
  const isKnown = (): boolean => findRunningProcesses(dataDir).some((one) => one.pid === pid);
  if (pid === undefined || isKnown()) return;
  const started = processStart(pid);
  const isOver = isStart(pid) ? () => Promise.resolve(false) : async () => (await lockHolder(lock)) !== pid;
  say(`a start is under way, pid ${pid}: it is waited for, and then stopped`);
  const until = performance.now() + endMs;
  while (processStart(pid) === started && !isKnown() && !(await isOver())) {
    if (performance.now() > until)
      throw new CommandError(
        `pid ${pid} still starts after ${endMs / 1_000} s: see its log, then stop again, or: kill ${pid}`,
      );
    await delay(lookEveryMs);
  }
}

/**
 * Has the processes of a data dir drain and end, and waits for them; for a start under way too. Throws `CommandError`
 * when one does not, or is another user's. Nothing runs: nothing to stop. `say` gets a sentence for whom it waits.
 */
export async function stop(
  config: Config,
  say: (line: string) => void = (line) => void process.stderr.write(`${line}\n`),
): Promise<Stopped> {
  const dataDir = findDataDir(config);
  await waitForStart(dataDir, say);
  const processes = findRunningProcesses(dataDir);
  for (const { pid } of processes) {
    requireOurs(dataDir, pid);
    try {
      process.kill(pid, 'SIGTERM');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ESRCH') continue;
      throw new CommandError(`pid ${pid} is another user's: stop it as that user, or as root`);
    }
  }
  const until = performance.now() + endMs;
  while (processes.some((each) => isRunning(each))) {
    if (performance.now() > until) {
      const pids = processes.filter((each) => isRunning(each)).map(({ pid }) => pid);
      throw new CommandError(`pid ${pids.join(', ')} did not end in ${endMs / 1_000} s; see its log, then: kill -9`);
    }
    await delay(lookEveryMs);
  }
  // One that was killed leaves its database running.
  const ended = await endLeftDatabase(dataDir);
  const database = findRunning(dataDir);
  const sandboxes = 'sandboxes, where some run: they end at their own time, or with ./svc uninstall';
  return {
    stopped: [
      ...processes.map(({ part, pid }) => ({ part, pid })),
      ...(ended === undefined ? [] : [{ part: 'database', pid: ended }]),
    ],
    left: [
      ...(database ? [`the database, pid ${database.pid}: another process uses it`] : []),
      ...(processes.some(({ part }) => part === 'all' || part === 'sandboxd') ? [sandboxes] : []),
    ],
  };
}
