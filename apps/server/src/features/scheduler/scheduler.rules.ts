import type { RunChange, RunRow, RunState } from './scheduler.sql.ts';

/** How long a claim or a heartbeat holds a run (document 2, Limits). */
export const leaseMs = 60_000;
/** The expiry of a lease is borne this often; then the run has failed. */
const mostLeasesLost = 3;
export const waitLimitMs = 24 * 3_600_000;

export const isFinal = (state: RunState): boolean =>
  state !== 'pending' && state !== 'awaiting_approval' && state !== 'running';

/** How an attempt ended, as its holder says. */
export interface Result {
  ok: boolean;
  exitCode?: number | undefined;
  error?: string | undefined;
  logTail?: string | undefined;
  costMicroUsd?: number | undefined;
  sessionId?: string | undefined;
}

const iso = (ms: number): string => new Date(ms).toISOString();
const released = { holder_id: null, lease_expires_at: null } as const;

/** What the run has cost with this attempt; a holder's figure never lowers it. */
function costWith(run: RunRow, attemptCost: number | undefined): number {
  return Math.max(run.cost_micro_usd, run.cost_before_micro_usd + (attemptCost ?? 0));
}

/** The next attempt of a run, from `notBefore` on. */
function nextAttempt(run: RunRow, cost: number, notBefore: number): RunChange {
  return {
    ...released,
    state: 'pending',
    attempt: run.attempt + 1,
    not_before: iso(notBefore),
    cost_micro_usd: cost,
    cost_before_micro_usd: cost,
  };
}

/** What a failed attempt leads to: a retry while there are some, else the final state. */
function afterFailure(run: RunRow, cost: number, now: number): RunChange {
  const overTime = run.started_at !== null && now - Date.parse(run.started_at) >= run.timeout_s * 1000;
  if (run.retries_used < run.retries) {
    const again = nextAttempt(run, cost, now + run.retry_backoff_s * 1000);
    return { ...again, retries_used: run.retries_used + 1 };
  }
  return { ...released, state: overTime ? 'timed_out' : 'failed', finished_at: iso(now), cost_micro_usd: cost };
}

/** The holder of a running attempt reports. */
export function onResult(run: RunRow, result: Result, now: number): RunChange {
  const cost = costWith(run, result.costMicroUsd);
  const next: RunChange = result.ok
    ? { ...released, state: 'succeeded', finished_at: iso(now), cost_micro_usd: cost }
    : afterFailure(run, cost, now);
  return {
    ...next,
    answers: [...run.answers, `${run.attempt}:${run.holder_id}`],
    exit_code: result.exitCode ?? null,
    error: result.ok ? null : (result.error ?? null),
    ...(result.logTail !== undefined && { log_tail: result.logTail }),
    ...(result.sessionId !== undefined && { session_id: result.sessionId }),
  };
}

/** The lease of a running attempt ran out: its holder is gone. */
export function onLeaseExpired(run: RunRow, now: number): RunChange {
  const lost = run.leases_lost + 1;
  if (lost > mostLeasesLost) {
    return { ...released, state: 'failed', error: 'lease_lost', leases_lost: lost, finished_at: iso(now) };
  }
  return { ...nextAttempt(run, run.cost_micro_usd, now), leases_lost: lost };
}

/** A running attempt is over its time and its holder did not say so. */
export function onTimeout(run: RunRow, now: number): RunChange {
  return { ...afterFailure(run, run.cost_micro_usd, now), error: `no result within ${run.timeout_s} s` };
}

/** A run is over its own budget: retrying would cost as much again. */
export function onOverBudget(now: number): RunChange {
  return { ...released, state: 'failed', error: 'budget_exceeded', finished_at: iso(now) };
}

/** A person, a deletion or an overlap ends a run that is not over. */
export function onCancel(now: number, reason: string): RunChange {
  // The holder stays known: its next heartbeat is answered with `cancel`.
  return { state: 'cancelled', lease_expires_at: null, finished_at: iso(now), error: reason };
}

/** A run waited for a day, for a machine or for a person. */
export function onWaitedTooLong(run: RunRow, now: number): RunChange {
  return run.state === 'awaiting_approval'
    ? { state: 'skipped', error: 'approval_expired', finished_at: iso(now) }
    : { state: 'expired', error: 'no host took it within 24 hours', finished_at: iso(now) };
}

/** What is due for a run at `now` without anybody saying so; undefined: nothing. `graceMs` is for the host's own report. */
export function onTime(run: RunRow, now: number, graceMs: number): RunChange | undefined {
  if (run.state === 'running') {
    if (run.started_at !== null && Date.parse(run.started_at) + run.timeout_s * 1000 + graceMs <= now) {
      return onTimeout(run, now);
    }
    if (run.lease_expires_at !== null && Date.parse(run.lease_expires_at) <= now) return onLeaseExpired(run, now);
    return undefined;
  }
  if (isFinal(run.state)) return undefined;
  const since = Math.max(Date.parse(run.created_at), Date.parse(run.not_before));
  return since + waitLimitMs <= now ? onWaitedTooLong(run, now) : undefined;
}

/** Where a chain stands. */
export type ChainMove =
  | { do: 'wait' }
  | { do: 'step'; index: number; scheduleId: string }
  | { do: 'finish'; ok: boolean; error?: string };

/**
 * The next move of a chain. After a failed step only steps with `on: "always"` run while `stop_on_failure` holds; the
 * chain has succeeded when every step that ran has.
 */
export function nextChainMove(
  spec: { steps: { schedule_id: string; on: 'success' | 'always' }[]; stop_on_failure: boolean },
  done: readonly { chain_step: number | null; state: RunState }[],
): ChainMove {
  if (done.some((run) => !isFinal(run.state))) return { do: 'wait' };
  const ran = new Map(done.map((run) => [run.chain_step, run.state]));
  let failed: number | undefined;
  for (const [index, step] of spec.steps.entries()) {
    const state = ran.get(index);
    if (state === undefined) {
      const blocked = failed !== undefined && spec.stop_on_failure && step.on !== 'always';
      if (!blocked) return { do: 'step', index, scheduleId: step.schedule_id };
    } else if (state !== 'succeeded') {
      failed ??= index;
    }
  }
  return failed === undefined
    ? { do: 'finish', ok: true }
    : { do: 'finish', ok: false, error: `step ${failed + 1} ${ran.get(failed) ?? 'failed'}` };
}

/**
 * Output with what differs from run to run blanked: timestamps, UUIDs, hexadecimal ids, durations. Two outputs that
 * normalise alike are no change (document 2, `notify`).
 */
export function normalizeOutput(output: string): string {
  return output
    .replaceAll(/\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?\b/g, '<time>')
    .replaceAll(/\b\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?\b/g, '<time>')
    .replaceAll(/\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b/gi, '<id>')
    .replaceAll(/\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b/gi, '<id>')
    .replaceAll(/\b\d+(?:[.,]\d+)?\s?(?:ms|µs|us|ns|s|sec|secs|seconds|min|m|h)\b/g, '<duration>')
    .replaceAll(/\b1[5-9]\d{8}(?:\d{3})?\b/g, '<time>')
    .trim();
}
