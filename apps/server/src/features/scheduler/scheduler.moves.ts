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
  lateAfter,
  leaseIsOver,
  leaseLost,
  leasesLeft,
  neverLate,
  nextAttempt,
  move as row,
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
import type { Instant } from '../../kernel/db/instant.ts';
import { columnsOf, columnsWithout, type GivenOf, machine, type RowMove } from '../../kernel/machine.ts';
import type { RunChange, RunRow } from './scheduler.sql.ts';
import { type RunState, runStates } from './scheduler.states.ts';

type RunOutcome<G> = RowMove<RunState, RunRow, G, RunChange>['outcomes'][number];

const retry: RunOutcome<{ costMicroUsd?: number | undefined }> = {
  to: 'pending',
  when: retriesLeft,
  effects: [released, nextAttempt, backOff],
};
const ended = [released, finished, costs] as const;
/** How an attempt ends that its holder, or its last step, reports. */
const results: readonly RunOutcome<Result>[] = [
  { to: 'succeeded', when: succeeded, effects: ended },
  retry,
  { to: 'timed_out', when: overTime, effects: ended },
  { to: 'failed', effects: ended },
];

/** Whether a run meets active ones of its schedule; `approval`: one of those awaits a person. */
export type Overlaps = boolean | 'approval';

const moves = {
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
            started_at: now.iso,
          })),
          neverLate,
          effect('no error, exit code, log', () => ({
            error: null,
            exit_code: null,
            ended_processes: null,
            log_tail: null,
          })),
        ],
      },
    ],
  }),
  startChain: row({
    from: ['pending'],
    guards: [isChain],
    outcomes: [
      {
        to: 'running',
        effects: [effect('started now, no error', (_, __, now) => ({ started_at: now.iso, error: null }))],
      },
    ],
  }),
  keep: row<{ by: Holder; leaseUntil: string; logTail?: string | undefined; costMicroUsd?: number | undefined }>({
    from: ['running'],
    guards: [holdsLease],
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
  report: row<Result & { by: Holder }>({ from: ['running'], guards: [holds], outcomes: results, effects: [reported] }),
  finishChain: row<Result>({ from: ['running'], guards: [isChain], outcomes: results, effects: [reported] }),
  stopOverBudget: row<{ by: Holder }>({
    from: ['running'],
    guards: [holds],
    // The heartbeat that found it is answered with `cancel`.
    outcomes: [{ to: 'failed', effects: [ending, released, finished, because('budget_exceeded')] }],
  }),
  handBack: row<{ by: Holder; costMicroUsd?: number | undefined }>({
    from: ['running'],
    guards: [holds],
    outcomes: [{ to: 'pending', effects: [released, nextAttempt, dueNow] }],
  }),
  refuse: row<{ by: Holder; costMicroUsd?: undefined }>({
    from: ['running'],
    guards: [holds],
    outcomes: [{ to: 'pending', effects: [released, nextAttempt, dueNow, refused] }],
  }),
  loseLease: row<{ costMicroUsd?: undefined }>({
    from: ['running'],
    guards: [leaseIsOver],
    outcomes: [
      { to: 'pending', when: leasesLeft, effects: [released, nextAttempt, dueNow] },
      { to: 'failed', effects: [released, finished, because('lease_lost')] },
    ],
    effects: [leaseLost],
  }),
  timeOut: row<{ graceMs: number; costMicroUsd?: undefined }>({
    from: ['running'],
    guards: [timeIsOver],
    outcomes: [retry, { to: 'timed_out', effects: ended }],
    effects: [
      effect<unknown, RunRow>('error `no result within …`', (run) => ({
        error: `no result within ${run.timeout_s} s`,
      })),
    ],
  }),
  expireApproval: row({
    from: ['awaiting_approval'],
    guards: [waitedADay],
    outcomes: [{ to: 'skipped', effects: [finished, because('approval_expired')] }],
  }),
  expire: row({
    from: ['pending'],
    guards: [waitedADay],
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
  restore: row({
    // What the time that was lost made of it, nobody knows: begun again it might be done twice.
    from: ['pending', 'running'],
    outcomes: [
      {
        to: 'failed',
        effects: [ending, released, finished, because('unknown: it was under way when the backup was made')],
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
        ended_processes: given.endedProcesses ?? null,
        error: given.error ?? null,
        log_tail: given.logTail ?? null,
      })),
      neverLate,
      specForgotten,
    ],
  }),
} as const;

/** Every move of a run. Nothing else sets the state of one; README.md shows this table. */
export const runs = machine({ table: 'scheduler.runs', states: runStates, moves });

export type RunMove = keyof typeof moves;
type Given<N extends RunMove> = GivenOf<(typeof moves)[N]>;
/** The input of a move; most take nothing. */
type Arguments<N extends RunMove> = unknown extends Given<N> ? [] : [given: Given<N>];

/** A move of a run: the columns that it changes, or undefined when the table does not allow it now. */
export type Step = (run: RunRow, now: Instant) => RunChange | undefined;

/** The step of this name. */
export function move<N extends RunMove>(name: N, ...[given]: Arguments<N>): Step {
  const line = moves[name] as RowMove<RunState, RunRow, Given<N> | undefined, RunChange>;
  return (run, now) => columnsOf(line, run, given, now);
}

/** The first of these steps that the table allows. */
const firstOf =
  (...steps: readonly Step[]): Step =>
  (run, now) => {
    for (const step of steps) {
      const change = step(run, now);
      if (change) return change;
    }
    return undefined;
  };

/** The moves of a run that time alone causes; `graceMs` gives the holder time to report a timeout itself. */
export const byTime = (graceMs: number): Step =>
  firstOf(move('timeOut', { graceMs }), move('loseLease', {}), move('expireApproval'), move('expire'));

/** The columns of a run that is created, or claimed in one statement. */
export function columnsFor<N extends 'create' | 'claim'>(name: N, given: Given<N>, now: Instant): RunChange {
  return columnsWithout(moves[name] as RowMove<RunState, unknown, Given<N>, RunChange>, undefined, given, now);
}
