import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** A process, told apart from a later one of the same number. */
export interface ProcessId {
  pid: number;
  /** The answer of `processStart` for it. */
  started: string;
}

/** Whether the process `pid` exists; it may belong to another user, or be a zombie. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Whether the process of that number is still the one that was written down. A zombie does not run. */
export function isRunning({ pid, started }: ProcessId): boolean {
  const now = processStart(pid);
  return now !== undefined && now === started;
}

/**
 * When the process `pid` started, as a text that no other process of that number ever shares; undefined when none
 * runs. On Linux the boot and the clock ticks since then (a zombie does not run), elsewhere what `ps` says.
 */
export function processStart(pid: number): string | undefined {
  try {
    if (process.platform !== 'linux') {
      return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8', stdio: 'pipe' }).trim();
    }
    const fields = statFields(pid);
    if (fields[0] === 'Z' || fields[0] === 'X') return undefined;
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${boot}/${fields[19]}`;
  } catch {
    return undefined;
  }
}

/**
 * The fields of `/proc/<pid>/stat` from the state on (field 3 of proc(5) is the first); throws when the process is
 * gone. Linux only.
 */
export function statFields(pid: number | 'self'): string[] {
  const status = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The command name before them is in parentheses and may hold anything.
  return status.slice(status.lastIndexOf(')') + 2).split(' ');
}
