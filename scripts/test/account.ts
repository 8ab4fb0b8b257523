import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';

/** Counts the processor time of a process and of all that descends from it, those too that outlive their parents. */
export interface Account {
  /** A file whose whole text is that time in nanoseconds. */
  readonly path: string;
  close(): void;
}

/** Where systems mount it, alone or with the controller `cpu`. */
const root = '/sys/fs/cgroup/cpuacct';
const prefix = 'svc-tests-';

/** The group of this process; empty where there is none. */
function ownGroup(): string {
  try {
    return /^\d+:(?:[^:]*,)?cpuacct(?:,[^:]*)?:(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1] ?? '';
  } catch {
    return '';
  }
}

/** Removes what runs that were killed have left; one that is in use stays. */
export function removeLeftAccounts(): void {
  const own = ownGroup();
  if (own === '' || !existsSync(`${root}${own}`)) return;
  for (const name of readdirSync(`${root}${own}`)) if (name.startsWith(prefix)) remove(`${root}${own}/${name}`);
}

/**
 * Opens an account for a process that has started nothing yet. Undefined where the system keeps none or this user may
 * not ask for one: control groups of the first kind, as root. Those of the second are the product's own to divide.
 */
export function openAccount(pid: number): Account | undefined {
  const own = ownGroup();
  if (own === '' || pid === 0) return undefined;
  const folder = `${root}${own}/${prefix}${pid}`;
  try {
    mkdirSync(folder);
    writeFileSync(`${folder}/cgroup.procs`, String(pid));
  } catch {
    remove(folder);
    return undefined;
  }
  return { path: `${folder}/cpuacct.usage`, close: () => remove(folder) };
}

/** With those of runs that a test of the runner began in it. */
function remove(folder: string): void {
  try {
    for (const name of readdirSync(folder)) if (name.startsWith(prefix)) remove(`${folder}/${name}`);
    rmdirSync(folder);
  } catch {
    // What was left running is still in it.
  }
}
