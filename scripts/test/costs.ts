import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** What a test file took, in seconds: of the clock, and of processors by its process and those that ended in it. */
export interface Cost {
  readonly wall: number;
  readonly cpu: number;
}

/** Costs by file. */
export type Costs = Map<string, Cost>;

/**
 * Of the last run that had the file, and what a new clone begins with: the dearest files of one machine, by hand-run
 * `--costs`.
 */
const keptIn = (root: string): string => join(root, 'node_modules/.cache/seconds.json');
const shippedIn = (root: string): string => join(root, 'scripts/test/seconds.json');
/** Files below this are not worth a line of what is shipped. */
const leastShipped = 1;

/** What files took when they were measured last. */
export function readCosts(root: string): Costs {
  return new Map([...readFrom(shippedIn(root)), ...readFrom(keptIn(root))]);
}

/** Keeps what files took beside what is known of others; a clone that cannot be written stays as it is. */
export function keepCosts(root: string, costs: Costs): void {
  const path = keptIn(root);
  const all = Object.fromEntries([...readFrom(path), ...costs]);
  try {
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(`${path}.new`, JSON.stringify(all));
    renameSync(`${path}.new`, path);
  } catch {
    // The next run deals its files by what is shipped.
  }
}

/** Writes the list that is shipped, for `npm test -- --costs`. */
export function shipCosts(root: string, costs: Costs): void {
  const dear = [...costs].filter(([, { wall }]) => wall >= leastShipped).sort(([a], [b]) => (a < b ? -1 : 1));
  const tenth = (seconds: number): number => Math.round(seconds * 10) / 10;
  // As the formatter wants it.
  const lines = dear.map(([file, { wall, cpu }]) => `  "${file}": { "wall": ${tenth(wall)}, "cpu": ${tenth(cpu)} }`);
  writeFileSync(shippedIn(root), `{\n${lines.join(',\n')}\n}\n`);
}

function readFrom(path: string): [string, Cost][] {
  try {
    return Object.entries(JSON.parse(readFileSync(path, 'utf8')) as Record<string, Cost>);
  } catch {
    return [];
  }
}

/** Ticks of the kernel's accounts in a second, on every Linux that Node.js runs on. */
const ticks = 100;

/** Seconds that all processors of this machine have worked since it started; undefined where nothing says so. */
export function machineSeconds(): number | undefined {
  const [line] = textOf('/proc/stat').split('\n', 1);
  const [user = 0, nice = 0, system = 0, , , interrupts = 0, soft = 0] = (line ?? '').split(/\s+/).slice(1).map(Number);
  return line === '' ? undefined : (user + nice + system + interrupts + soft) / ticks;
}

/** Seconds that a process and those of its children that ended have worked; undefined where nothing says so. */
export function processSeconds(pid: number | 'self'): number | undefined {
  const text = textOf(`/proc/${pid}/stat`);
  if (text === '') return undefined;
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0) / ticks;
}

/**
 * Seconds of processors that this process and what it started have used: all of it by an account, else its ended
 * children.
 */
export function ownSeconds(account?: string): number {
  if (account !== undefined) return Number(textOf(account)) / 1e9;
  const { user, system } = process.cpuUsage();
  return processSeconds('self') ?? (user + system) / 1e6;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
