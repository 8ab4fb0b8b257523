import { contract, type RouteInput, uuid } from '@svc/contract';
import { isRunning } from '@svc/process-lock';
import { z } from 'zod';
import { killLeft, openRecords, processOf, pruneRecords, recordedProcess, type RecordEntry } from '../records.ts';

/** How an attempt ended, as it is reported. */
export type RunOutcome = Omit<RouteInput<typeof contract.scheduler.result>['body'], 'attempt'>;

const recordFile = z.object({
  /** `<run id>` of a claimed run, `<schedule id>.<slot>` of one that the operating system's scheduler began. */
  id: z.string(),
  attempt: z.int(),
  schedule_id: uuid,
  /** The daemon, or the command, that began it. */
  owner: recordedProcess,
  /** Leader of the group that runs it; absent until there is one. */
  process: recordedProcess.optional(),
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

/** Every attempt that was begun and not settled: on disk before anything is started. */
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
  const nameOf = ({ id, attempt }: Pick<JournalRecord, 'id' | 'attempt'>) => `${id}.${attempt}`;
  const records = await openRecords(directory, recordFile, nameOf);
  const entries = async () => (await records.entries()).map(entryOf);
  return {
    async begin(id, attempt, scheduleId, slot = {}) {
      const owner = processOf(process.pid);
      const entry = await records.begin({ id, attempt, schedule_id: scheduleId, owner, ...slot });
      return entry && entryOf(entry);
    },
    async find(id, attempt) {
      const entry = await records.find(nameOf({ id, attempt }));
      return entry && entryOf(entry);
    },
    entries,
    async abandoned() {
      const left = (await entries()).filter(({ record }) => record.settled !== true && !isRunning(record.owner));
      for (const { record } of left) {
        // The guard in its group has done so already, unless it was killed too.
        if (record.outcome === undefined) killLeft(record.process, `${runVariable}=${record.id}`);
      }
      return left;
    },
  };
}

function entryOf(entry: RecordEntry<JournalRecord>): JournalEntry {
  return {
    get record() {
      return entry.record;
    },
    started: (pid) => entry.write({ process: processOf(pid) }),
    finished: (outcome) => {
      const { native } = entry.record;
      const finished_at = new Date().toISOString();
      return entry.write({ outcome, ...(native && { native: { ...native, finished_at } }) });
    },
    settle: () => entry.write({ settled: true }),
    close: () => entry.close(),
  };
}

/** Name of a slot in the journal; a run's is its id, which holds no dot. */
export function slotId(scheduleId: string, scheduledFor: string): string {
  return `${scheduleId}.${Date.parse(scheduledFor)}`;
}

/** Settled slots are kept for so long, names of closed runs for less. */
const keptMs = 2 * 86_400_000;

/** Removes files of the journal that were last written long ago. */
export const pruneJournal = (directory: string): Promise<void> => pruneRecords(directory, keptMs);
