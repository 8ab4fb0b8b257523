import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { hostname } from 'node:os';

/** The machine that a process runs on: a path there means nothing on another one. */
export interface MachineId {
  /** Differs between machines, and between containers of one; another one after a restart of the machine. */
  readonly id: string;
  /** For people: the host name, which several machines may have. */
  readonly name: string;
}

/** Machines that were cloned share their machine-id, containers of one machine its boot id: their root folders differ. */
export function readMachineId(): MachineId {
  const name = hostname();
  const { dev, ino } = statSync('/');
  const parts = [textOf('/proc/sys/kernel/random/boot_id'), textOf('/etc/machine-id'), `${dev}:${ino}`];
  // Elsewhere than on Linux there is neither, and no node.
  if (parts[0] === '') parts.push(name);
  return { id: createHash('sha256').update(parts.join(' ')).digest('hex').slice(0, 32), name };
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return '';
  }
}
