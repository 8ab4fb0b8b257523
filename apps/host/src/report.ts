import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, SvcError } from '@svc/sdk';
import { createBackoff } from './backoff.ts';

/** How an operation ended: what its caller gets. */
export interface OpOutcome {
  ok: boolean;
  result?: unknown;
  error?: string;
}

/** Posts outcomes; never throws. */
export interface Reporter {
  /** Posts until the gateway took it, refused it, or `deadline` (of `performance.now()`) passed; at least once. */
  report(reqId: string, outcome: OpOutcome, deadline: number): Promise<void>;
}

/** How results reach the gateway. */
interface ReporterOptions {
  client: Client;
  log: (text: string) => void;
  /** Milliseconds between attempts, smallest and largest. */
  retryMs: readonly [number, number];
  /** Ends every attempt. */
  signal: AbortSignal;
}

/** Most milliseconds of one attempt: 12 MB on a slow line take that long, a dead connection would take for ever. */
const attemptMs = 60_000;
const maxError = 2000;

/** Makes the reporter of a daemon. */
export function createReporter(options: ReporterOptions): Reporter {
  return {
    async report(reqId, outcome, deadline) {
      const backoff = createBackoff(...options.retryMs);
      let body = cleaned(outcome);
      for (;;) {
        const failure = await post(options, reqId, body);
        if (failure === undefined || options.signal.aborted) return;
        if (failure instanceof SvcError && failure.status === 413 && body.ok) {
          // Without an answer the caller would wait for its timeout.
          body = { ok: false, error: 'result_too_large' };
          continue;
        }
        const wait = waitAfter(failure, backoff.next());
        if (wait === undefined || performance.now() + wait > deadline) {
          options.log(`the result of ${reqId} was not taken: ${describeWithTrace(failure)}`);
          return;
        }
        await sleep(wait, undefined, { signal: options.signal }).catch(() => {});
      }
    },
  };
}

/** Undefined when it was taken. */
async function post(options: ReporterOptions, reqId: string, body: OpOutcome): Promise<unknown> {
  try {
    const signal = AbortSignal.any([options.signal, AbortSignal.timeout(attemptMs)]);
    await options.client.hosts.result({ params: { req_id: reqId }, body }, { signal });
    return undefined;
  } catch (error) {
    return error ?? new Error('unknown failure');
  }
}

/** Milliseconds until another attempt is worth it; undefined when none is. */
function waitAfter(failure: unknown, wait: number): number | undefined {
  if (!(failure instanceof SvcError)) return wait;
  if (failure.status !== 0 && failure.status !== 429 && failure.status < 500) return undefined;
  return Math.max(wait, (failure.retryAfter ?? 0) * 1000);
}

function cleaned(outcome: OpOutcome): OpOutcome {
  if (outcome.error === undefined) return outcome;
  return { ...outcome, error: outcome.error.replaceAll('\u0000', '').slice(0, maxError).toWellFormed() };
}

/** A failure of a call as one line; the same for the same failure. */
export function describeFailure(failure: unknown): string {
  if (!(failure instanceof SvcError)) return failure instanceof Error ? failure.message : String(failure);
  return failure.status === 0 ? failure.message : `${failure.status} ${failure.code}: ${failure.message}`;
}

/** `describeFailure` with what helps to find the call in the gateway's log. */
export function describeWithTrace(failure: unknown): string {
  const trace = failure instanceof SvcError ? failure.traceId : undefined;
  return describeFailure(failure) + (trace === undefined ? '' : ` (trace ${trace})`);
}
