import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, SvcError } from '@svc/sdk';
import { createBackoff } from '../backoff.ts';
import type { RunOutcome } from './journal.ts';

/** Waiting times of a run, in milliseconds. */
export interface RunTiming {
  /** Between two heartbeats, when they are answered. */
  heartbeatMs: number;
  /**
   * After the last answered heartbeat was sent, when the run is ended: so long before the lease of 60 s runs out that
   * the process is gone by then.
   */
  leaseMs: number;
  /** Smallest and largest wait after a call that failed. */
  retryMs: readonly [number, number];
  /** Longest a call may take. */
  callMs: number;
}

/** The waiting times the daemon uses. */
export const runTiming: RunTiming = { heartbeatMs: 20_000, leaseMs: 55_000, retryMs: [500, 5_000], callMs: 10_000 };

/** How often it is looked whether the machine slept, and for how long it must have. */
const lookMs = 1_000;
const sleptMs = 5_000;

/** The reason of a run that the gateway ended: it waits to hear that the process is gone. */
export const cancelled = 'cancelled';
/** Reasons for which nothing is reported: the attempt is not this host's any more. */
export const silentReasons = ['lease_held', 'lease_lost'];

/** Options for keeping a lease. */
interface LeaseOptions {
  client: Client;
  timing: RunTiming;
  run: { id: string; attempt: number };
  /** Fields that the heartbeat reports. */
  progress: () => Promise<Pick<RunOutcome, 'log_tail' | 'cost_micro_usd'>>;
  /** Ends the run; `controller.signal` ends the keeping. */
  controller: AbortController;
  /** The run is over. */
  over: AbortSignal;
  /** When the claim was sent (`performance.now()`): the lease began after that, however late its answer came. */
  since: number;
  /** Wakes the next heartbeat: something was said of the run. */
  wake: Wake;
}

/** A wait that can be cut short; what was said before the wait counts. */
export interface Wake {
  /** Ends the wait at hand, or the next one. */
  now(): void;
  /** Resolves when `now` is called, or `signal` aborts. */
  next(signal: AbortSignal): Promise<void>;
}

/** Makes the wake of one run. */
export function createWake(): Wake {
  let called = Promise.withResolvers<void>();
  return {
    now: () => called.resolve(),
    async next(signal) {
      const { promise } = called;
      const aborted = new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        else signal.addEventListener('abort', () => resolve(), { once: true });
      });
      await Promise.race([promise, aborted]);
      if (!signal.aborted) called = Promise.withResolvers<void>();
    },
  };
}

/**
 * Keeps the lease until the run is over. Aborts the run with `cancelled` when the gateway says so, with `lease_held`
 * when another attempt counts, and with `lease_lost` when no heartbeat got through for as long as the lease is safe.
 */
export async function keepLease(options: LeaseOptions): Promise<void> {
  const { timing, controller, over } = options;
  const signal = AbortSignal.any([controller.signal, over]);
  const backoff = createBackoff(...timing.retryMs);
  const lose = () => controller.abort('lease_lost');
  const left = Math.max(0, options.since + timing.leaseMs - performance.now());
  let lapse = setTimeout(lose, left);
  // As far before the end of the lease as ever: at once when the claim waited long for its run.
  let wait = Math.max(0, left - (timing.leaseMs - timing.heartbeatMs));
  while (!signal.aborted) {
    await waitAwake(wait, signal, options.wake);
    if (signal.aborted) break;
    const sent = performance.now();
    const answer = await beat(options, signal);
    if (signal.aborted) break;
    if (answer === 'kept') {
      clearTimeout(lapse);
      lapse = setTimeout(lose, Math.max(0, sent + timing.leaseMs - performance.now()));
      backoff.reset();
      wait = timing.heartbeatMs;
    } else if (answer === 'unknown') {
      wait = backoff.next();
    } else {
      controller.abort(answer);
    }
  }
  clearTimeout(lapse);
}

/** Waits; comes back early when it is woken, and when the machine slept: its timers stood still, the lease did not. */
async function waitAwake(ms: number, signal: AbortSignal, wake: Wake): Promise<void> {
  const asleep = () => Date.now() - performance.now();
  const [before, end] = [asleep(), performance.now() + ms];
  const over = new AbortController();
  const woken = wake.next(AbortSignal.any([signal, over.signal])).then(() => 'woken' as const);
  for (let left = ms; left > 0 && !signal.aborted; left = end - performance.now()) {
    const passed = sleep(Math.min(left, lookMs), undefined, { signal }).catch(() => {});
    if ((await Promise.race([passed, woken])) === 'woken' || asleep() - before > sleptMs) break;
  }
  over.abort();
}

async function beat(
  options: LeaseOptions,
  signal: AbortSignal,
): Promise<'kept' | typeof cancelled | 'lease_held' | 'unknown'> {
  const { client, run, timing } = options;
  try {
    const body = { attempt: run.attempt, ...(await options.progress()) };
    const call = { signal: AbortSignal.any([signal, AbortSignal.timeout(timing.callMs)]) };
    const { cancel } = await client.scheduler.heartbeat({ params: { id: run.id }, body }, call);
    return cancel ? cancelled : 'kept';
  } catch (error) {
    return isFinalRefusal(error) ? 'lease_held' : 'unknown';
  }
}

/** The gateway knows the run and wants nothing more of this attempt, or does not know it. */
function isFinalRefusal(error: unknown): boolean {
  return error instanceof SvcError && (error.status === 404 || error.status === 409);
}

/** Result of posting an outcome; `later`: post it again. */
type Delivery = 'taken' | 'refused' | 'later';

/** Posts an outcome once. */
export async function deliver(
  client: Client,
  run: { id: string; attempt: number },
  outcome: RunOutcome,
  signal: AbortSignal,
): Promise<{ delivery: Delivery; failure?: unknown }> {
  const post = async (body: RunOutcome) => {
    await client.scheduler.result({ params: { id: run.id }, body: { ...body, attempt: run.attempt } }, { signal });
  };
  try {
    await post(outcome);
    return { delivery: 'taken' };
  } catch (failure) {
    if (!isRefusal(failure)) return { delivery: 'later', failure };
    if (isFinalRefusal(failure)) return { delivery: 'refused', failure };
  }
  // Something in it is not as this gateway wants it: what counts is how the run ended.
  const { ok, exit_code, error } = outcome;
  try {
    await post({ ok, ...(exit_code !== undefined && { exit_code }), ...(error !== undefined && { error }) });
    return { delivery: 'taken' };
  } catch (failure) {
    return { delivery: isRefusal(failure) ? 'refused' : 'later', failure };
  }
}

/** Asking again would be refused again; keys and subscriptions are put right, and a crowd passes. */
export function isRefusal(failure: unknown): boolean {
  if (!(failure instanceof SvcError)) return false;
  return failure.status >= 400 && failure.status < 500 && ![401, 402, 403, 408, 429].includes(failure.status);
}
