import type { attemptStates } from '@svc/contract';
import type { Db } from '../../../kernel/db/db.ts';

export type RunAttemptState = (typeof attemptStates)[number];

/** An attempt of a run that ended. */
export interface RunAttempt {
  attempt: number;
  /** The host; null: it ran in the cloud. */
  device_id: string | null;
  state: RunAttemptState;
  started_at: string;
  finished_at: string | null;
  error: string | null;
  /** How many processes ended with it; null: its host told none. */
  ended_processes: number | null;
}

/** Attempts that are kept of a run. */
const mostKept = 10;

/**
 * Keeps an attempt that ended, and the nine before it. Attempts are counted up, also those that a host handed back.
 * Most runs have one attempt. A delete that was planned while the table was small read all of it for each result.
 */
export async function insertAttempt(db: Db, runId: string, ended: RunAttempt): Promise<void> {
  if (ended.attempt > mostKept)
    await db`delete from scheduler.attempts where run_id = ${runId} and attempt <= ${ended.attempt - mostKept}`;
  await db`
    insert into scheduler.attempts ${db({ run_id: runId, ...ended })} on conflict (run_id, attempt) do nothing`;
}

/** The attempts of a run that ended, oldest first. */
export async function listAttempts(db: Db, runId: string): Promise<RunAttempt[]> {
  return db<RunAttempt[]>`
    select attempt, device_id, state, started_at, finished_at, error, ended_processes from scheduler.attempts
    where run_id = ${runId} order by attempt`;
}
