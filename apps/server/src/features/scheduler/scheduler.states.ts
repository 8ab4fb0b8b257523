import {
  backOff,
  because,
  costs,
  dueNow,
  effect,
  ending,
  finished,
  guard,
  type Holder,
  holds,
  holdsLease,
  isChain,
  iso,
  lateAfter,
  leaseIsOver,
  leaseLost,
  leasesLeft,
  type Move,
  neverLate,
  nextAttempt,
  type MoveOutcome,
  overTime,
  refused,
  released,
  reported,
  type Result,
  retriesLeft,
  specForgotten,
  succeeded,
  timeIsOver,
  waitedADay,
} from './scheduler.effects.ts';
import type { RunChange, RunRow, RunState } from './scheduler.sql.ts';

const retry: MoveOutcome<{ costMicroUsd?: number | undefined }> = {
  to: 'pending',
  when: retriesLeft,
  effects: [released, nextAttempt, backOff],
};
const ended = [released, finished, costs] as const;
/** How an attempt ends that its holder, or its last step, reports. */
const results: readonly MoveOutcome<Result>[] = [
  { to: 'succeeded', when: succeeded, effects: ended },
  retry,
  { to: 'timed_out', when: overTime, effects: ended },
  { to: 'failed', effects: ended },
];

const row = <G = unknown, R = RunRow>(given: Move<G, R>): Move<G, R> => given;

/** Whether a run meets active ones of its schedule; `approval`: one of those awaits a person. */
export type Overlaps = boolean | 'approval';

/** Every move of a run. Nothing else sets the state of one; README.md shows this table. */
export const runMoves = {
  create: row<{ overlaps: Overlaps; asks: boolean; lateAt: string | null; passedOver?: number | undefined }, unknown>({
    from: [],
    outcomes: [
      {
        to: 'skipped',
        when: guard('a later slot stands for it', (_, { passedOver }) => passedOver !== undefined),
        effects: [
          finished,
          neverLate,
          effect<{ passedOver?: number | undefined }>('error: how many were passed over', (_, { passedOver }) => ({
            error: `late: the next run stands for ${passedOver} slots`,
          })),
        ],
      },
      {
        to: 'skipped',
        when: guard('its schedule has an active run', (_, { overlaps }) => overlaps !== false),
        effects: [
          finished,
          neverLate,
          effect<{ overlaps: Overlaps }>(
            'error: `overlap`, and whether the active one awaits a person',
            (_, { overlaps }) => ({
              error: overlaps === 'approval' ? 'overlap: an earlier run waits for approval' : 'overlap',
            }),
          ),
        ],
      },
      {
        to: 'awaiting_approval',
        when: guard('its schedule asks a person', (_, { asks }) => asks),
        effects: [lateAfter],
      },
      { to: 'pending', effects: [lateAfter] },
    ],
  }),
  askAgain: row({ from: ['pending'], outcomes: [{ to: 'awaiting_approval', effects: [neverLate] }] }),
  approve: row<{ lateAt: string | null }>({
    from: ['awaiting_approval'],
    outcomes: [{ to: 'pending', effects: [dueNow, lateAfter] }],
  }),
  skip: row({
    from: ['awaiting_approval'],
    outcomes: [{ to: 'skipped', effects: [finished, because('skipped by a person')] }],
  }),
  claim: row<{ holderId: string; leaseUntil: string }, unknown>({
    from: ['pending'],
    checkedThere: 'it is due, first of its schedule, and meant for this holder',
    outcomes: [
      {
        to: 'running',
        effects: [
          effect<{ holderId: string; leaseUntil: string }>('holder and lease, started now', (_, given, now) => ({
            holder_id: given.holderId,
            lease_expires_at: given.leaseUntil,
            started_at: iso(now),
          })),
          neverLate,
          effect('no error, exit code, log', () => ({ error: null, exit_code: null, log_tail: null })),
        ],
      },
    ],
  }),
  startChain: row({
    from: ['pending'],
    guard: isChain,
    outcomes: [
      {
        to: 'running',
        effects: [effect('started now, no error', (_, __, now) => ({ started_at: iso(now), error: null }))],
      },
    ],
  }),
  keep: row<{ by: Holder; leaseUntil: string; logTail?: string | undefined; costMicroUsd?: number | undefined }>({
    from: ['running'],
    guard: holdsLease,
    outcomes: [
      {
        to: 'running',
        effects: [
          effect<{ leaseUntil: string; logTail?: string | undefined }>('lease, log', (_, { leaseUntil, logTail }) => ({
            lease_expires_at: leaseUntil,
            ...(logTail !== undefined && { log_tail: logTail }),
          })),
          costs,
        ],
      },
    ],
  }),
  report: row<Result & { by: Holder }>({ from: ['running'], guard: holds, outcomes: results, effects: [reported] }),
  finishChain: row<Result>({ from: ['running'], guard: isChain, outcomes: results, effects: [reported] }),
  stopOverBudget: row<{ by: Holder }>({
    from: ['running'],
    guard: holds,
    // The heartbeat that found it is answered with `cancel`.
    outcomes: [{ to: 'failed', effects: [ending, released, finished, because('budget_exceeded')] }],
  }),
  handBack: row<{ by: Holder; costMicroUsd?: number | undefined }>({
    from: ['running'],
    guard: holds,
    outcomes: [{ to: 'pending', effects: [released, nextAttempt, dueNow] }],
  }),
  refuse: row<{ by: Holder; costMicroUsd?: undefined }>({
    from: ['running'],
    guard: holds,
    outcomes: [{ to: 'pending', effects: [released, nextAttempt, dueNow, refused] }],
  }),
  loseLease: row<{ costMicroUsd?: undefined }>({
    from: ['running'],
    guard: leaseIsOver,
    outcomes: [
      { to: 'pending', when: leasesLeft, effects: [released, nextAttempt, dueNow] },
      { to: 'failed', effects: [released, finished, because('lease_lost')] },
    ],
    effects: [leaseLost],
  }),
  timeOut: row<{ graceMs: number; costMicroUsd?: undefined }>({
    from: ['running'],
    guard: timeIsOver,
    outcomes: [retry, { to: 'timed_out', effects: ended }],
    effects: [
      effect<unknown, RunRow>('error `no result within …`', (run) => ({
        error: `no result within ${run.timeout_s} s`,
      })),
    ],
  }),
  expireApproval: row({
    from: ['awaiting_approval'],
    guard: waitedADay,
    outcomes: [{ to: 'skipped', effects: [finished, because('approval_expired')] }],
  }),
  expire: row({
    from: ['pending'],
    guard: waitedADay,
    outcomes: [{ to: 'expired', effects: [finished, because('no host took it within 24 hours')] }],
  }),
  loseKey: row<{ error: string }>({
    from: ['pending', 'awaiting_approval', 'running'],
    // The holder's next heartbeat is refused, and it ends the process.
    outcomes: [
      {
        to: 'failed',
        effects: [
          ending,
          released,
          finished,
          effect<{ error: string }>('error: what its key lacks', (_, { error }) => ({ error })),
        ],
      },
    ],
  }),
  cancel: row<{ reason: string }>({
    from: ['pending', 'awaiting_approval', 'running'],
    outcomes: [
      {
        to: 'cancelled',
        effects: [
          finished,
          ending,
          // Its next heartbeat is answered with `cancel`.
          effect('no lease, the holder stays', () => ({ lease_expires_at: null })),
          effect<{ reason: string }>('error: why', (_, { reason }) => ({ error: reason })),
        ],
      },
    ],
  }),
  reportNative: row<Result & { deviceId: string; startedAt: string; finishedAt: string }>({
    from: ['pending', 'awaiting_approval'],
    checkedThere: 'its schedule is native to this device',
    outcomes: [
      { to: 'succeeded', when: succeeded, effects: [] },
      { to: 'failed', effects: [] },
    ],
    effects: [
      effect('holder, times, exit code, error, log', (_, given) => ({
        holder_id: given.deviceId,
        started_at: given.startedAt,
        finished_at: given.finishedAt,
        exit_code: given.exitCode ?? null,
        error: given.error ?? null,
        log_tail: given.logTail ?? null,
      })),
      neverLate,
      specForgotten,
    ],
  }),
} as const;

export type RunMove = keyof typeof runMoves;
type Given<N extends RunMove> = (typeof runMoves)[N] extends Move<infer G, infer _> ? G : never;
/** What a move is given; nothing for most. */
type Arguments<N extends RunMove> = unknown extends Given<N> ? [] : [given: Given<N>];

/** A move of a run: the columns that it changes, or undefined when the table does not allow it now (milliseconds). */
export type Step = (run: RunRow, now: number) => RunChange | undefined;

/** The step of this name. */
export function move<N extends RunMove>(name: N, ...[given]: Arguments<N>): Step {
  const row = runMoves[name] as Move<Given<N> | undefined>;
  return (run, now) => {
    if (!row.from.includes(run.state)) return undefined;
    return row.guard?.holds(run, given, now) === false ? undefined : columnsOf(row, run, given, now);
  };
}

/** The first of these steps that the table allows. */
export const firstOf =
  (...steps: readonly Step[]): Step =>
  (run, now) => {
    for (const step of steps) {
      const change = step(run, now);
      if (change) return change;
    }
    return undefined;
  };

/** What time alone does to a run; `graceMs` is for the holder's own report of a timeout. */
export const byTime = (graceMs: number): Step =>
  firstOf(move('timeOut', { graceMs }), move('loseLease', {}), move('expireApproval'), move('expire'));

/** What a run that is created, or claimed in one statement, is stored with. */
export function columnsFor<N extends 'create' | 'claim'>(name: N, given: Given<N>, now: number): RunChange {
  return columnsOf(runMoves[name] as Move<Given<N>, unknown>, undefined, given, now);
}

function columnsOf<G, R>(row: Move<G, R>, run: R, given: G, now: number): RunChange {
  const outcome = row.outcomes.find(({ when }) => when === undefined || when.holds(run, given, now)) as MoveOutcome<
    G,
    R
  >;
  const effects = [...outcome.effects, ...(row.effects ?? [])];
  return Object.assign({ state: outcome.to }, ...effects.map(({ columns }) => columns(run, given, now)));
}

const movable = new Set(Object.values(runMoves).flatMap(({ from }): readonly RunState[] => from));
/** Whether no move leaves this state. */
export const isFinal = (state: RunState): boolean => !movable.has(state);
