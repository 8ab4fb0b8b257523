import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { dirname, join } from 'node:path';

const gibibyte = 1_073_741_824;
/** Below this the memory that waits is missed by what runs. A machine that is sold with 2 GB reports 1.9 GiB. */
const smallBytes = 1.75 * gibibyte;
/** Memory that is left for the rest of the machine. */
const reservedBytes = gibibyte;
/** Memory that a running sandbox takes besides that of its user code. */
const aroundBytes = gibibyte / 2;
const mostSlots = 64;
const warmByDefault = 2;

/** As many sandboxes as `totalBytes` are enough for: one at least, and two where there are 1.75 GiB. */
export function slotsFor(memoryBytes: number, totalBytes: number): number {
  const least = totalBytes < smallBytes ? 1 : 2;
  const fit = Math.floor((totalBytes - reservedBytes) / (memoryBytes + aroundBytes));
  return Math.max(least, Math.min(mostSlots, fit));
}

/** How many restored sandboxes wait, 110 MiB each, where nobody says. */
export const warmFor = (totalBytes: number): number => (totalBytes < smallBytes ? 0 : warmByDefault);

/** Processes that wait to hold a sandbox: without one a sandbox waits for a process to start. */
export const sparesFor = (totalBytes: number): number => (totalBytes < smallBytes ? 0 : 2);

/**
 * Bytes of memory that sandboxes may use: what the machine has, or what a control group above theirs allows. With
 * `makesGroups` their groups are made at the mount of the hierarchy: the limit of this process's own group does not
 * bind them. The limit of a container stands at the mount, and does.
 */
export function usableMemory(root = '/', machineBytes = totalmem(), makesGroups = process.getuid?.() === 0): number {
  return Math.min(machineBytes, ...limitsOf(root, makesGroups));
}

/** Limits of the control groups that sandboxes are in, up to the topmost that is seen here. */
function limitsOf(root: string, makesGroups: boolean): number[] {
  const lines = textOf(join(root, 'proc/self/cgroup')).split('\n');
  return lines.flatMap((line) => {
    const [, controllers = '', own = ''] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    const path = makesGroups ? '/' : own;
    if (controllers === '' && own !== '') return limitsAbove(join(root, 'sys/fs/cgroup'), path, 'memory.max');
    if (!controllers.split(',').includes('memory')) return [];
    return limitsAbove(join(root, 'sys/fs/cgroup/memory'), path, 'memory.limit_in_bytes');
  });
}

function limitsAbove(mount: string, path: string, file: string): number[] {
  const found: number[] = [];
  for (let group = path; ; group = dirname(group)) {
    // `max`, and a file that is not there, are no number.
    const bytes = Number.parseInt(textOf(join(mount, group, file)), 10);
    if (bytes > 0) found.push(bytes);
    if (group === '/') return found;
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return '';
  }
}
