import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { contract, type RouteInput, uuid } from '@svc/contract';
import { isRunning, processStart, statFields } from '@svc/process-lock';
import { z } from 'zod';
import { writePrivate } from '../state.ts';

/** How an attempt ended, as it is reported. */
export type RunOutcome = Omit<RouteInput<typeof contract.scheduler.result>['body'], 'attempt'>;

const processOf = z.object({ pid: z.int().positive(), started: z.string() });
const recordFile = z.object({
  /** `<run id>` of a claimed run, `<schedule id>.<slot>` of one that the operating system's scheduler began. */
  id: z.string(),
  attempt: z.int(),
  schedule_id: uuid,
  /** The daemon, or the command, that began it. */
  owner: processOf,
  /** Leader of the group that runs it; absent until there is one. */
  process: processOf.optional(),
  outcome: contract.scheduler.result.takes.schema.omit({ attempt: true }).optional(),
  /** Of a slot: the run that stands for it when the daemon claimed it, else when the machine ran it by itself. */
  run_id: uuid.optional(),
  native: z
    .object({ scheduled_for: z.string(), started_at: z.string(), finished_at: z.string().optional() })
    .optional(),
  /** Nothing is left to do; kept so that the slot is not run again. */
  settled: z.boolean().optional(),
});

/** An attempt as the journal stores it. */
type JournalRecord = z.output<typeof recordFile>;

/** An attempt in the journal, for the one that works on it. */
export interface JournalEntry {
  readonly record: JournalRecord;
  /** Its process is there (and does nothing yet). */
  started(pid: number): Promise<void>;
  /** How it ended: kept until the gateway has it. */
  finished(outcome: RunOutcome): Promise<void>;
  /** Of a slot: the gateway has it, or does not want it. */
  settle(): Promise<void>;
  /** Of a run: the same. Only its name stays, for as long as it could be offered again by mistake. */
  close(): Promise<void>;
}

/** Further fields of a slot's record. */
type SlotDetails = Pick<JournalRecord, 'run_id' | 'native'>;

/** Every attempt that was begun and not settled, one file each: on disk before anything is started. */
export interface Journal {
  /** Writes an attempt down; undefined when it is there already, and must not be started. */
  begin(id: string, attempt: number, scheduleId: string, slot?: SlotDetails): Promise<JournalEntry | undefined>;
  /** The entry of an attempt. */
  find(id: string, attempt: number): Promise<JournalEntry | undefined>;
  /** Everything that stands there. */
  entries(): Promise<JournalEntry[]>;
  /** Unsettled attempts whose owner is gone; kills their remaining processes. */
  abandoned(): Promise<JournalEntry[]>;
}

/** Marks the processes of an attempt. */
export const runVariable = 'SVC_RUN_ID';

/** Opens the journal, a directory that is made when it is missing. */
export async function openJournal(directory: string): Promise<Journal> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const pathOf = (id: string, attempt: number) => join(directory, `${id}.${attempt}.json`);
  const entryOf = (initial: JournalRecord): JournalEntry => {
    let record = initial;
    const path = pathOf(record.id, record.attempt);
    const write = async (changes: Partial<JournalRecord>) => {
      record = { ...record, ...changes };
      await writePrivate(path, JSON.stringify(record), false);
    };
    return {
      get record() {
        return record;
      },
      started: (pid) => write({ process: { pid, started: processStart(pid) ?? '' } }),
      finished: (outcome) => {
        const finished_at = new Date().toISOString();
        return write({ outcome, ...(record.native && { native: { ...record.native, finished_at } }) });
      },
      settle: () => write({ settled: true }),
      async close() {
        await writeFile(doneOf(path), '', { mode: 0o600 });
        await rm(path, { force: true });
      },
    };
  };
  const find = async (name: string) => {
    const record = await readRecord(join(directory, name));
    return record && entryOf(record);
  };
  const entries = async () => {
    const names = (await readdir(directory)).filter((name) => name.endsWith('.json'));
    return (await Promise.all(names.map(find))).filter((entry) => entry !== undefined);
  };
  return {
    async begin(id, attempt, scheduleId, slot = {}) {
      const owner = { pid: process.pid, started: processStart(process.pid) ?? '' };
      const record = { id, attempt, schedule_id: scheduleId, owner, ...slot };
      if (!(await writePrivate(pathOf(id, attempt), JSON.stringify(record), true))) return undefined;
      if (await isThere(doneOf(pathOf(id, attempt)))) {
        await rm(pathOf(id, attempt), { force: true });
        return undefined;
      }
      await syncDirectory(directory);
      return entryOf(record);
    },
    find: (id, attempt) => find(basename(pathOf(id, attempt))),
    entries,
    async abandoned() {
      const all = await entries();
      const left = all.filter(({ record }) => record.settled !== true && !isRunning(record.owner));
      for (const { record } of left) if (record.outcome === undefined) killLeft(record);
      return left;
    },
  };
}

/** Name of a slot in the journal; a run's is its id, which holds no dot. */
export function slotId(scheduleId: string, scheduledFor: string): string {
  return `${scheduleId}.${Date.parse(scheduledFor)}`;
}

/** Settled slots are kept for so long, names of closed runs for less: they are many. */
const keptMs = 2 * 86_400_000;
const doneMs = 3_600_000;

/** Removes files of the journal that were last written long ago. */
export async function pruneJournal(directory: string): Promise<void> {
  for (const name of await readdir(directory).catch(() => [])) {
    const path = join(directory, name);
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }));
    if (mtimeMs < Date.now() - (name.endsWith('.done') ? doneMs : keptMs)) await rm(path, { force: true });
  }
}

const doneOf = (path: string) => path.replace(/json$/, 'done');

async function isThere(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}

async function readRecord(path: string): Promise<JournalRecord | undefined> {
  try {
    return recordFile.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch {
    // Gone, or of another version: nothing that could be acted upon.
    return undefined;
  }
}

/** A name in a directory is on disk only when the directory is. */
async function syncDirectory(directory: string): Promise<void> {
  await using handle = await open(directory, 'r');
  await handle.sync();
}

/**
 * Kills what is left of an attempt. The guard in its group has done so already, unless it was killed too. A number may
 * be someone else's by now: the leader is known by its start, every other member by the mark in its environment.
 */
function killLeft({ id, process: leader }: JournalRecord): void {
  if (!leader) return;
  if (isRunning(leader)) return kill(-leader.pid);
  for (const pid of membersOf(leader.pid, `${runVariable}=${id}`)) kill(pid);
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
  const pids = process.platform === 'linux' ? readdirSync('/proc').map(Number).filter(Number.isInteger) : [];
  return pids.filter((pid) => {
    try {
      return (
        Number(statFields(pid)[2]) === group && readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(mark)
      );
    } catch {
      return false;
    }
  });
}
