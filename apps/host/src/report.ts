import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, SvcError } from '@svc/sdk';
import { createBackoff } from './backoff.ts';

/** How an operation ended: what its caller gets. */
export interface OpOutcome {
  ok: boolean;
  result?: unknown;
  error?: string;
  /** Nobody can know how it ended. */
  unknown?: boolean;
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

/** Outcomes of at most this many characters are joined, and so many of them: the gateway takes 64. */
const joined = { characters: 16_384, most: 64 };

/** Makes the reporter of a daemon. */
export function createReporter(options: ReporterOptions): Reporter {
  const joint = new Joint(options);
  return {
    async report(reqId, outcome, deadline) {
      const backoff = createBackoff(...options.retryMs);
      let body = cleaned(outcome);
      for (;;) {
        const failure = await joint.post(reqId, body);
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

/** An outcome, and who waits for what became of it. */
interface Posting {
  reqId: string;
  body: OpOutcome;
  /** With a failure, or undefined when it was taken. */
  done: (failure: unknown) => void;
}

/** Joins what ends in the same turn of this process into one request. */
class Joint {
  readonly #options: ReporterOptions;
  #waiting: Posting[] = [];
  /** A gateway of before does not know the route. */
  #isKnown = true;

  constructor(options: ReporterOptions) {
    this.#options = options;
  }

  async post(reqId: string, body: OpOutcome): Promise<unknown> {
    if (!this.#isKnown || JSON.stringify(body).length > joined.characters) return post(this.#options, reqId, body);
    const { promise, resolve } = Promise.withResolvers<unknown>();
    if (this.#waiting.push({ reqId, body, done: resolve }) === 1) setImmediate(() => this.#send());
    return promise;
  }

  #send(): void {
    const all = this.#waiting;
    this.#waiting = [];
    for (let at = 0; at < all.length; at += joined.most) void this.#sendSome(all.slice(at, at + joined.most));
  }

  async #sendSome(some: readonly Posting[]): Promise<void> {
    const taken = some.length === 1 ? undefined : await this.#postAll(some);
    for (const [at, { reqId, body, done }] of some.entries()) {
      // Alone, an outcome that was not taken says why.
      if (taken?.[at] === true) done(undefined);
      else void post(this.#options, reqId, body).then(done);
    }
  }

  /** Which of them were taken; undefined when that is not known. */
  async #postAll(some: readonly Posting[]): Promise<readonly boolean[] | undefined> {
    try {
      const results = some.map(({ reqId, body }) => ({ req_id: reqId, ...body }));
      return (await this.#options.client.hosts.results({ body: { results } }, signalOf(this.#options))).taken;
    } catch (error) {
      if (error instanceof SvcError && (error.status === 404 || error.status === 405)) this.#isKnown = false;
      return undefined;
    }
  }
}

const signalOf = ({ signal }: ReporterOptions) => ({
  signal: AbortSignal.any([signal, AbortSignal.timeout(attemptMs)]),
});

/** Undefined when it was taken. */
async function post(options: ReporterOptions, reqId: string, body: OpOutcome): Promise<unknown> {
  try {
    await options.client.hosts.result({ params: { req_id: reqId }, body }, signalOf(options));
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
