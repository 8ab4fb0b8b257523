import { contract, uuid } from '@svc/contract';
import { z } from 'zod';
import type { OpOutcome } from '../report.ts';
import { openRecords, type RecordEntry, recordedProcess, type Records } from '../records.ts';

const recordFile = z.object({
  /** `req_id`. */
  id: uuid,
  /** When it came, in milliseconds: they start in this order. */
  came_at: z.number(),
  /** What the gateway lets it start with, once. */
  token: z.string(),
  frame: contract.hosts.stream.answers.schemas.exec,
  /** An operation that is no process began: it is not begun again. */
  began: z.boolean().optional(),
  /** Leader of the group that runs the command; absent until there is one. */
  process: recordedProcess.optional(),
  /** It was ordered to end. */
  ending: z.boolean().optional(),
  /** How many processes it had then; absent where the system does not show them. */
  ended_processes: z.int().optional(),
  outcome: z
    .object({
      ok: z.boolean(),
      result: z.unknown().optional(),
      error: z.string().optional(),
      unknown: z.boolean().optional(),
    })
    .optional(),
});

/** A command that this machine does by itself, as the journal stores it. */
export type ExecRecord = Omit<z.output<typeof recordFile>, 'outcome'> & { outcome?: OpOutcome };
export type ExecEntry = RecordEntry<ExecRecord>;

/** Marks the processes of a command. */
export const execVariable = 'SVC_EXEC_ID';

/** Opens the journal of commands: each stands there before the gateway is asked, and until it has the outcome. */
export const openExecs = (directory: string): Promise<Records<ExecRecord>> =>
  openRecords<ExecRecord>(directory, recordFile as z.ZodType<ExecRecord>, ({ id }) => id);
