import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';

/** Counts the processor time of a process and of all that descends from it, those too that outlive their parents. */
export interface Account {
  /** A file whose whole text is that time in nanoseconds. */
  readonly path: string;
  close(): void;
}

/**
 * Opens an account for a process that has started nothing yet. Undefined where the system keeps none or this user may not ask
 * for one: control groups of the first kind, as root. Those of the second are the product's own to divide.
 */
export function openAccount(pid: number): Account | undefined {
  try {
    const [, own = ''] = /:cpuacct:(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8')) ?? [];
    if (own === '') return undefined;
    const folder = `/sys/fs/cgroup/cpuacct${own}/svc-tests-${pid}`;
    mkdirSync(folder);
    writeFileSync(`${folder}/cgroup.procs`, String(pid));
    const close = (): void => {
      try {
        rmdirSync(folder);
      } catch {
        // What was left running is still in it.
      }
    };
    return { path: `${folder}/cpuacct.usage`, close };
  } catch {
    return undefined;
  }
}
