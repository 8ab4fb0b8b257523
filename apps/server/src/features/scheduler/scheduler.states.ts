import type { RunChange, RunRow, RunState } from './scheduler.sql.ts';

/** How long a claim or a heartbeat holds a run (document 2, Limits). */
export const leaseMs = 60_000;
/** A run survives this many lost leases, then fails. */
const mostLeasesLost = 3;
const waitLimitMs = 24 * 3_600_000;

/** Who says that it has a run. */
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
  error?: string | undefined;
  logTail?: string | undefined;
  /** Of this attempt alone. */
  costMicroUsd?: number | undefined;
  sessionId?: string | undefined;
}

/** What a guard or an effect says stands in the README; `G` is what the caller gives, `R` the run as it is. */
interface Guard<G, R = RunRow> {
  says: string;
  holds: (run: R, given: G, now: number) => boolean;
}
interface Effect<G, R = RunRow> {
  says: string;
  columns: (run: R, given: G, now: number) => RunChange;
}
interface Outcome<G, R = RunRow> {
  to: RunState;
  when?: Guard<G, R>;
  effects: readonly Effect<G, R>[];
}
/** A line of the table. */
export interface Move<G, R = RunRow> {
  /** Empty: the move creates the run. */
  from: readonly RunState[];
  guard?: Guard<G, R>;
  /** A part of the guard that its statement checks (scheduler.claims.sql.ts), or its operation. */
  checkedThere?: string;
  /** The first one whose `when` holds. */
  outcomes: readonly Outcome<G, R>[];
  /** Of every outcome. */
  effects?: readonly Effect<G, R>[];
}

const iso = (ms: number): string => new Date(ms).toISOString();
const guard = <G = unknown, R = RunRow>(says: string, holds: Guard<G, R>['holds']): Guard<G, R> => ({ says, holds });
const effect = <G = unknown, R = unknown>(says: string, columns: Effect<G, R>['columns']): Effect<G, R> => ({
  says,
  columns,
});

/** Whether this holder has this attempt, or was the last one to have it when the run is over. */
export const hasAttempt = (run: RunRow, by: Holder): boolean =>
  run.pool === by.pool &&
  run.attempt === by.attempt &&
  run.holder_id !== null &&
  (by.holderId ?? run.holder_id) === run.holder_id;

/** Whether the result of this holder's attempt was taken before. */
export const hasAnswered = (run: RunRow, { attempt, holderId }: Holder): boolean =>
  run.answers.some((answer) => {
    const [answered, holder = ''] = answer.split(':');
    return Number(answered) === attempt && (holderId ?? holder) === holder;
  });

const holds = guard<{ by: Holder }>('this holder still has this attempt', (run, { by }) => hasAttempt(run, by));
const leaseIsOver = guard(
  'its lease is over',
  (run, _, now) => run.lease_expires_at !== null && Date.parse(run.lease_expires_at) <= now,
);
const holdsLease = guard<{ by: Holder }>(
  `${holds.says}, and its lease`,
  (run, { by }, now) => hasAttempt(run, by) && Date.parse(run.lease_expires_at ?? '') > now,
);
const timeIsOver = guard<{ graceMs: number }>(
  'its time and 15 s for its own report are over',
  (run, { graceMs }, now) =>
    run.started_at !== null && Date.parse(run.started_at) + run.timeout_s * 1000 + graceMs <= now,
);
const waitedADay = guard(
  'it waited 24 h',
  (run, _, now) => Math.max(Date.parse(run.created_at), Date.parse(run.not_before)) + waitLimitMs <= now,
);
const isChain = guard('it is a chain', (run) => run.kind === 'chain');
const succeeded = guard<{ ok: boolean }, unknown>('it went well', (_, { ok }) => ok);
const retriesLeft = guard('retries are left', (run) => run.retries_used < run.retries);
const overTime = guard(
  'its time is over',
  (run, _, now) => run.started_at !== null && now - Date.parse(run.started_at) >= run.timeout_s * 1000,
);
const leasesLeft = guard(`fewer than ${mostLeasesLost} leases were lost`, (run) => run.leases_lost < mostLeasesLost);

/** What the run has cost with this attempt; a holder's figure never lowers it. */
const costWith = (run: RunRow, attemptCost = 0): number =>
  Math.max(run.cost_micro_usd, run.cost_before_micro_usd + attemptCost);

const released = effect('no holder', () => ({ holder_id: null, lease_expires_at: null }));
const finished = effect('finished now', (_, __, now) => ({ finished_at: iso(now) }));
const because = (error: string) => effect(`error \`${error}\``, () => ({ error }));
const dueNow = effect('due now', (_, __, now) => ({ not_before: iso(now) }));
const backOff = effect<unknown, RunRow>('due after its back-off, a retry used', (run, _, now) => ({
  not_before: iso(now + run.retry_backoff_s * 1000),
  retries_used: run.retries_used + 1,
}));
const nextAttempt = effect<{ costMicroUsd?: number | undefined }, RunRow>('next attempt', (run, { costMicroUsd }) => {
  const cost = costWith(run, costMicroUsd);
  return { attempt: run.attempt + 1, cost_micro_usd: cost, cost_before_micro_usd: cost };
});
const leaseLost = effect<unknown, RunRow>('a lease lost', (run) => ({ leases_lost: run.leases_lost + 1 }));
const costs = effect<{ costMicroUsd?: number | undefined }, RunRow>('cost, never lower', (run, { costMicroUsd }) => ({
  cost_micro_usd: costWith(run, costMicroUsd),
}));
const reported = effect<Result, RunRow>('exit code, error, log, session; the attempt is answered', (run, result) => ({
  answers: [...run.answers, `${run.attempt}:${run.holder_id}`],
  exit_code: result.exitCode ?? null,
  error: result.ok ? null : (result.error ?? null),
  ...(result.logTail !== undefined && { log_tail: result.logTail }),
  ...(result.sessionId !== undefined && { session_id: result.sessionId }),
}));
const lateAfter = effect<{ lateAt: string | null }>('late alert after `late_after_s`', (_, { lateAt }) => ({
  late_at: lateAt,
}));
const neverLate = effect('no late alert', () => ({ late_at: null }));

const retry: Outcome<{ costMicroUsd?: number | undefined }> = {
  to: 'pending',
  when: retriesLeft,
  effects: [released, nextAttempt, backOff],
};
const ended = [released, finished, costs] as const;
/** How an attempt ends that its holder, or its last step, reports. */
const results: readonly Outcome<Result>[] = [
  { to: 'succeeded', when: succeeded, effects: ended },
  retry,
  { to: 'timed_out', when: overTime, effects: ended },
  { to: 'failed', effects: ended },
];

const row = <G = unknown, R = RunRow>(given: Move<G, R>): Move<G, R> => given;

/** Every move of a run. Nothing else sets the state of one; README.md shows this table. */
export const runMoves = {
  create: row<{ overlaps: boolean; asks: boolean; lateAt: string | null }, unknown>({
    from: [],
    outcomes: [
      {
        to: 'skipped',
        when: guard('its schedule has an active run', (_, { overlaps }) => overlaps),
        effects: [finished, because('overlap'), neverLate],
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
    outcomes: [{ to: 'failed', effects: [released, finished, because('budget_exceeded')] }],
  }),
  handBack: row<{ by: Holder; costMicroUsd?: undefined }>({
    from: ['running'],
    guard: holds,
    outcomes: [{ to: 'pending', effects: [released, nextAttempt, dueNow] }],
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
  cancel: row<{ reason: string }>({
    from: ['pending', 'awaiting_approval', 'running'],
    outcomes: [
      {
        to: 'cancelled',
        effects: [
          finished,
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
  const outcome = row.outcomes.find(({ when }) => when === undefined || when.holds(run, given, now)) as Outcome<G, R>;
  const effects = [...outcome.effects, ...(row.effects ?? [])];
  return Object.assign({ state: outcome.to }, ...effects.map(({ columns }) => columns(run, given, now)));
}

const movable = new Set(Object.values(runMoves).flatMap(({ from }): readonly RunState[] => from));
/** Whether no move leaves this state. */
export const isFinal = (state: RunState): boolean => !movable.has(state);
