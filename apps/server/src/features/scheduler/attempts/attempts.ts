// What is kept of a run's attempts. The one that is under way is the run's own row, so a claim writes nothing more.
import type { runDetail } from '@svc/contract';
import type { z } from 'zod';
import type { Db } from '../../../kernel/db/db.ts';
import type { Instant } from '../../../kernel/db/instant.ts';
import { overTime } from '../scheduler.effects.ts';
import type { RunRow } from '../scheduler.sql.ts';
import { runStates } from '../scheduler.states.ts';
import { type RunAttempt, type RunAttemptState, insertAttempt, listAttempts } from './attempts.sql.ts';

type View = z.input<typeof runDetail>['attempts'];

/** Characters of an error that are kept; the run has the whole of its last one. */
const mostErrorLength = 500;
/** A run answers this many. */
const mostShown = 10;

/** Keeps the attempt of a run that a move has ended, in the move's transaction; other moves end none. */
export async function noteAttempt(db: Db, was: RunRow, is: RunRow, now: Instant): Promise<void> {
  const ended = endedAttempt(was, is, now);
  if (ended) await insertAttempt(db, is.id, ended);
}

function endedAttempt(was: RunRow, is: RunRow, now: Instant): RunAttempt | undefined {
  const error = is.error === null ? null : is.error.slice(0, mostErrorLength).toWellFormed();
  if (was.state !== 'running') {
    // The operating system's scheduler ran it, and the report came later.
    const isReported = runStates.isFinal(is.state) && is.started_at !== null && is.started_at !== was.started_at;
    if (!isReported || is.started_at === null) return undefined;
    const { attempt, holder_id: device_id, started_at, finished_at, ended_processes } = is;
    return { attempt, device_id, state: endOf(was, is, now), started_at, finished_at, error, ended_processes };
  }
  if (is.state === 'running' || was.started_at === null) return undefined;
  const device_id = was.pool === 'host' ? was.holder_id : null;
  const { attempt, started_at } = was;
  const { ended_processes } = is;
  return { attempt, device_id, state: endOf(was, is, now), started_at, finished_at: now.iso, error, ended_processes };
}

/** How the attempt ended that a move took a run out of. */
function endOf(was: RunRow, is: RunRow, now: Instant): RunAttemptState {
  if (is.leases_lost > was.leases_lost) return 'lost';
  if (is.retries_used > was.retries_used) return overTime.holds(was, undefined, now) ? 'timed_out' : 'failed';
  if (is.refused_by.length > was.refused_by.length) return 'refused';
  return runStates.isFinal(is.state) ? (is.state as RunAttemptState) : 'handed_back';
}

/** The last attempts of a run as they are answered, the one that is under way among them; oldest first. */
export async function attemptsOf(db: Db, run: RunRow): Promise<View> {
  const ended = await listAttempts(db, run.id);
  const { attempt, state, started_at } = run;
  const none = { finished_at: null, error: null, ended_processes: null };
  const running: RunAttempt[] =
    state === 'running' && started_at !== null
      ? [{ attempt, device_id: deviceOf(run), state, started_at, ...none }]
      : [];
  return [...ended, ...running]
    .slice(-mostShown)
    .map(({ device_id, finished_at, error, ended_processes, ...kept }) => ({
      ...kept,
      ...(device_id !== null && { device_id }),
      ...(finished_at !== null && { finished_at }),
      ...(error !== null && { error }),
      ...(ended_processes !== null && { ended_processes }),
    }));
}

const deviceOf = ({ pool, holder_id }: RunRow): string | null => (pool === 'host' ? holder_id : null);
