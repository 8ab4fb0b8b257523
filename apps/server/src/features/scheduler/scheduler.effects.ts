// Guards and effects that the moves of a run are put together from. Each says in words, for the README, what it asks or
// changes; `scheduler.moves.ts` is the table.
import { plus } from '../../kernel/db/instant.ts';
import { partsOf } from '../../kernel/machine.ts';
import type { RunChange, RunRow } from './scheduler.sql.ts';
import type { RunState } from './scheduler.states.ts';
import { fenceOf, fenceText } from './scheduler.fence.ts';

export const { guard, effect, move, to } = partsOf<RunState, RunRow, RunChange>();

/** How long a claim or a heartbeat holds a run (document 2, Limits). */
export const leaseMs = 60_000;
/** A run survives this many lost leases, then fails. */
const mostLeasesLost = 3;
const waitLimitMs = 24 * 3_600_000;

/** The claimed holder of a run. */
export interface Holder {
  pool: 'host' | 'cloud';
  attempt: number;
  /** The device or gateway; undefined: the caller names none, and the attempt alone decides. */
  holderId: string | undefined;
}

/** How an attempt ended. */
export interface Result {
  ok: boolean;
  exitCode?: number | undefined;
  endedProcesses?: number | undefined;
  error?: string | undefined;
  logTail?: string | undefined;
  /** Of this attempt alone. */
  costMicroUsd?: number | undefined;
  sessionId?: string | undefined;
}

/** Whether this holder has this attempt, or was the last one to have it when the run is over. */
export const hasAttempt = (run: RunRow, by: Holder): boolean =>
  run.pool === by.pool &&
  run.attempt === by.attempt &&
  run.holder_id !== null &&
  (by.holderId ?? run.holder_id) === run.holder_id;

/** The attempts that answered, with the one that a run is in. */
const withAnswer = ({ answers, attempt, holder_id }: RunRow): string[] => [
  ...answers,
  fenceText({ attempt, holderId: holder_id ?? '' }),
];

/** Whether the result of this holder's attempt was taken before. */
export const hasAnswered = (run: RunRow, { attempt, holderId }: Holder): boolean =>
  run.answers
    .map(fenceOf)
    .some((answer) => answer.attempt === attempt && (holderId ?? answer.holderId) === answer.holderId);

export const holds = guard<{ by: Holder }>('this holder still has this attempt', (run, { by }) => hasAttempt(run, by));
export const leaseIsOver = guard(
  'its lease is over',
  (run, _, now) => run.lease_expires_at !== null && Date.parse(run.lease_expires_at) <= now.ms,
);
export const holdsLease = guard<{ by: Holder }>(
  `${holds.says}, and its lease`,
  (run, { by }, now) => hasAttempt(run, by) && Date.parse(run.lease_expires_at ?? '') > now.ms,
);
export const timeIsOver = guard<{ graceMs: number }>(
  'its time and 15 s for its own report are over',
  (run, { graceMs }, now) =>
    run.started_at !== null && Date.parse(run.started_at) + run.timeout_s * 1000 + graceMs <= now.ms,
);
export const waitedADay = guard(
  'it waited 24 h',
  (run, _, now) => Math.max(Date.parse(run.created_at), Date.parse(run.not_before)) + waitLimitMs <= now.ms,
);
export const isChain = guard('it is a chain', (run) => run.kind === 'chain');
export const succeeded = guard<{ ok: boolean }, unknown>('it went well', (_, { ok }) => ok);
export const retriesLeft = guard('retries are left', (run) => run.retries_used < run.retries);
export const overTime = guard(
  'its time is over',
  (run, _, now) => run.started_at !== null && now.ms - Date.parse(run.started_at) >= run.timeout_s * 1000,
);
export const leasesLeft = guard(
  `fewer than ${mostLeasesLost} leases were lost`,
  (run) => run.leases_lost < mostLeasesLost,
);

/** The cost of the run including this attempt; a holder's figure never lowers it. */
const costWith = (run: RunRow, attemptCost = 0): number =>
  Math.max(run.cost_micro_usd, run.cost_before_micro_usd + attemptCost);

export const released = effect('no holder', () => ({ holder_id: null, lease_expires_at: null }));
/** A run that is over is listed for months (`SVC_RUN_DAYS`), and nobody reads its spec again: up to 1 MiB. */
export const specForgotten = effect('spec forgotten', () => ({ spec: {}, sealed_headers: null }));
export const finished = effect('finished now, spec forgotten', (_, __, now) => ({
  finished_at: now.iso,
  spec: {},
  sealed_headers: null,
}));
/** Its process may live as long as its lease would have: no other run of the schedule is claimed before. */
export const ending = effect<unknown, RunRow>('the schedule waits for the end of its process', (run) =>
  run.holder_id === null || run.lease_expires_at === null
    ? {}
    : { ending: fenceText({ attempt: run.attempt, holderId: run.holder_id }), ending_until: run.lease_expires_at },
);
export const because = (error: string) => effect(`error \`${error}\``, () => ({ error }));
export const dueNow = effect('due now', (_, __, now) => ({ not_before: now.iso }));
export const backOff = effect<unknown, RunRow>('due after its back-off, a retry used', (run, _, now) => ({
  not_before: plus(now, run.retry_backoff_s * 1000).iso,
  retries_used: run.retries_used + 1,
}));
export const nextAttempt = effect<{ costMicroUsd?: number | undefined }, RunRow>(
  'next attempt',
  (run, { costMicroUsd }) => {
    const cost = costWith(run, costMicroUsd);
    return { attempt: run.attempt + 1, cost_micro_usd: cost, cost_before_micro_usd: cost };
  },
);
export const refused = effect<unknown, RunRow>('not started, and not for this holder until it asks again', (run) => ({
  started_at: null,
  answers: withAnswer(run),
  refused_by: [...new Set([...run.refused_by, run.holder_id as string])],
}));
export const leaseLost = effect<unknown, RunRow>('a lease lost', (run) => ({ leases_lost: run.leases_lost + 1 }));
export const costs = effect<{ costMicroUsd?: number | undefined }, RunRow>(
  'cost, never lower',
  (run, { costMicroUsd }) => ({
    cost_micro_usd: costWith(run, costMicroUsd),
  }),
);
export const reported = effect<Result, RunRow>(
  'exit code, error, log, session, what was ended; the attempt is answered',
  (run, result) => ({
    answers: withAnswer(run),
    exit_code: result.exitCode ?? null,
    ended_processes: result.endedProcesses ?? null,
    error: result.ok ? null : (result.error ?? null),
    ...(result.logTail !== undefined && { log_tail: result.logTail }),
    ...(result.sessionId !== undefined && { session_id: result.sessionId }),
  }),
);
export const lateAfter = effect<{ lateAt: string | null }>('late alert after `late_after_s`', (_, { lateAt }) => ({
  late_at: lateAt,
}));
export const neverLate = effect('no late alert', () => ({ late_at: null }));
