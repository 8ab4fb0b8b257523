import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isRunning, type ProcessId, processStart, statFields } from '@svc/process-lock';
import { z } from 'zod';
import { writePrivate } from './state.ts';

/** A process in a record. */
export const recordedProcess = z.object({ pid: z.int().positive(), started: z.string() });

/** Names a process so that a later one of its number is told apart. */
export const processOf = (pid: number): ProcessId => ({ pid, started: processStart(pid) ?? '' });

/** A record on disk, for the one that works on it. */
export interface RecordEntry<R> {
  readonly record: R;
  /** Changes fields: on disk, whole, when this resolves. */
  write(changes: Partial<R>): Promise<void>;
  /** Nothing is left to do. Only its name stays, for as long as it could be offered again by mistake. */
  close(): Promise<void>;
}

/** A journal: files of one directory, a record each, on disk before anything is started. */
export interface Records<R> {
  /** Writes a record down; undefined when it is there already, or was, and must not be started. */
  begin(record: R): Promise<RecordEntry<R> | undefined>;
  /** The record of this name. */
  find(name: string): Promise<RecordEntry<R> | undefined>;
  /** Everything that stands there. Damaged files, and those of another version, are passed over. */
  entries(): Promise<RecordEntry<R>[]>;
}

/** Opens a journal, a directory that is made when it is missing. */
export async function openRecords<R>(
  directory: string,
  schema: z.ZodType<R>,
  nameOf: (record: R) => string,
): Promise<Records<R>> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const pathOf = (name: string) => join(directory, `${name}.json`);
  const entryOf = (initial: R): RecordEntry<R> => {
    let record = initial;
    const path = pathOf(nameOf(record));
    return {
      get record() {
        return record;
      },
      async write(changes) {
        record = { ...record, ...changes };
        await writePrivate(path, JSON.stringify(record), false);
      },
      async close() {
        await writeFile(doneOf(path), '', { mode: 0o600 });
        await rm(path, { force: true });
      },
    };
  };
  const find = async (name: string) => {
    const record = await readRecord(pathOf(name), schema);
    return record && entryOf(record);
  };
  return {
    async begin(record) {
      const path = pathOf(nameOf(record));
      // Somebody may have removed it under a living daemon.
      await mkdir(directory, { recursive: true, mode: 0o700 });
      if (!(await writePrivate(path, JSON.stringify(record), true))) return undefined;
      if (await isThere(doneOf(path))) {
        await rm(path, { force: true });
        return undefined;
      }
      await syncPath(directory);
      return entryOf(record);
    },
    find,
    async entries() {
      const names = (await readdir(directory)).filter((name) => name.endsWith('.json'));
      const found = await Promise.all(names.map((name) => find(name.slice(0, -'.json'.length))));
      return found.filter((entry) => entry !== undefined);
    },
  };
}

const doneOf = (path: string) => path.replace(/json$/, 'done');
/** Names of closed records are kept for so long: they are many. */
const doneMs = 3_600_000;

/** Removes names of closed records, and with `keptMs` all other files that were last written so long ago. */
export async function pruneRecords(directory: string, keptMs = Number.POSITIVE_INFINITY): Promise<void> {
  for (const name of await readdir(directory).catch(() => [])) {
    const path = join(directory, name);
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }));
    if (mtimeMs < Date.now() - (name.endsWith('.done') ? doneMs : keptMs)) await rm(path, { force: true });
  }
}

async function isThere(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}

async function readRecord<R>(path: string, schema: z.ZodType<R>): Promise<R | undefined> {
  try {
    return schema.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch {
    // Gone, or of another version: nothing that could be acted upon.
    return undefined;
  }
}

/** Waits until a file is on disk; of a directory, the names in it. */
export async function syncPath(path: string): Promise<void> {
  await using handle = await open(path, 'r');
  await handle.sync();
}

/**
 * Kills what is left of a process group. A number may be someone else's by now: the leader is known by its start, every other
 * member by `mark` in its environment.
 */
export function killLeft(leader: ProcessId | undefined, mark: string): void {
  if (!leader) return;
  if (isRunning(leader)) return kill(-leader.pid);
  for (const pid of membersOf(leader.pid, mark)) kill(pid);
}

function kill(target: number): void {
  try {
    process.kill(target, 'SIGKILL');
  } catch {
    // It is gone.
  }
}

/** Processes of a group that carry `mark` in their environment; none where the system does not show them. */
function membersOf(group: number, mark: string): number[] {
  return (membersIn(group) ?? [])
    .map(({ pid }) => pid)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(mark);
      } catch {
        return false;
      }
    });
}

/** A process of a group, and its parent. */
interface Member {
  pid: number;
  parent: number;
}

/** The processes of a group that are not over; undefined where the system does not show them. */
export function membersIn(group: number): Member[] | undefined {
  if (process.platform !== 'linux') return undefined;
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger);
  return pids.flatMap((pid) => {
    try {
      const [state, parent, ofGroup] = statFields(pid);
      return Number(ofGroup) === group && state !== 'Z' ? [{ pid, parent: Number(parent) }] : [];
    } catch {
      return [];
    }
  });
}
