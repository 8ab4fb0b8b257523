import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, isSvcError, SvcError } from '@svc/sdk';
import { createBackoff } from './backoff.ts';
import { CommandError } from './failure.ts';
import { lacksScope } from './refusals.ts';
import { describeFailure } from './report.ts';

/** Waiting times of a connection, in milliseconds. */
export interface ConnectionTiming {
  /** Smallest and largest wait before connecting again. */
  retryMs: readonly [number, number];
  /** A connection that lasted so long counts as good: the next wait is short again. */
  stableMs: number;
  /** Without a byte for so long the connection is taken for dead; the gateway writes every 15 s. */
  silenceMs: number;
}

/** The waiting times the daemon uses. */
export const defaultTiming: ConnectionTiming = { retryMs: [500, 15_000], stableMs: 15_000, silenceMs: 45_000 };

/** A host as the gateway shows it to others. */
interface Presence {
  os: string;
  hostname: string;
  roots: readonly string[];
}

/** How a daemon stays on the hosts stream. */
interface ConnectionOptions {
  client: Client;
  /** Asked before every attempt: roots may have changed. */
  presence: () => Promise<Presence>;
  onConnected: (presence: Presence) => void;
  onEvent: (event: string, data: unknown) => void;
  /** The gateway refuses this machine because nothing of its account may run. */
  onSuspended: () => void;
  log: (text: string) => void;
  signal: AbortSignal;
  timing: ConnectionTiming;
}

/** The gateway's wish to wait is followed up to this: a mistaken header must not keep a host away for a day. */
const maxRetryAfterMs = 10 * 60_000;

/**
 * Keeps the hosts stream open until `signal` aborts, connecting again whatever happens. Throws `CommandError` only when
 * the key is refused by the first answer the gateway ever gives.
 */
export async function stayConnected(options: ConnectionOptions): Promise<void> {
  const { timing, signal } = options;
  const backoff = createBackoff(...timing.retryMs);
  let unanswered = true;
  let told = '';
  while (!signal.aborted) {
    const { lastedMs, failure } = await connectOnce(options);
    if (signal.aborted) return;
    if (isSuspension(failure)) options.onSuspended();
    if (unanswered && failure instanceof SvcError && failure.status === 401) {
      throw new CommandError(`the gateway refuses the API key: ${describeFailure(failure)}`);
    }
    if (lastedMs !== undefined || isAnswer(failure)) unanswered = false;
    if (lastedMs !== undefined) told = '';
    if (lastedMs !== undefined && lastedMs >= timing.stableMs) backoff.reset();
    const reason = reasonOf(failure);
    // The same failure over and over is one line, until a connection came about.
    if (reason !== told && !lacksScope(failure))
      options.log(`${lastedMs === undefined ? 'cannot connect' : 'connection lost'}: ${reason}; trying again`);
    told = reason;
    await sleep(waitAfter(failure, backoff.next(), timing), undefined, { signal }).catch(() => {});
  }
}

interface Attempt {
  /** How long the connection stood, undefined when there was none. */
  lastedMs: number | undefined;
  /** Undefined when the gateway closed the stream in good order. */
  failure: unknown;
}

async function connectOnce(options: ConnectionOptions): Promise<Attempt> {
  const attempt = new AbortController();
  const silence = setTimeout(() => attempt.abort(new Silence()), options.timing.silenceMs);
  let since: number | undefined;
  const lasted = () => (since === undefined ? undefined : performance.now() - since);
  try {
    const presence = await options.presence();
    const frames = options.client.hosts.stream(
      { query: { ...presence, roots: presence.roots.join(','), detached: 'true' } },
      { signal: AbortSignal.any([options.signal, attempt.signal]), onActivity: () => void silence.refresh() },
    );
    for await (const { event, data } of frames) {
      // Any frame proves that this is the gateway and not some page that answers 200.
      if (since === undefined) {
        since = performance.now();
        options.onConnected(presence);
      }
      options.onEvent(event, data);
    }
    return { lastedMs: lasted(), failure: undefined };
  } catch (error) {
    return { lastedMs: lasted(), failure: attempt.signal.aborted ? attempt.signal.reason : error };
  } finally {
    clearTimeout(silence);
  }
}

class Silence extends Error {
  override message = 'the gateway went silent';
}

function reasonOf(failure: unknown): string {
  if (failure === undefined) return 'the gateway closed the stream';
  if (failure instanceof SvcError && isRefusal(failure.status)) {
    return `the gateway refuses this key for now: ${describeFailure(failure)}`;
  }
  return describeFailure(failure);
}

function isSuspension(failure: unknown): boolean {
  return isSvcError(failure, 'account_suspended') || isSvcError(failure, 'subscription_inactive');
}

/** False when the gateway was not there or not itself. */
function isAnswer(failure: unknown): boolean {
  return failure instanceof SvcError && failure.status >= 400 && failure.status < 500 && failure.status !== 429;
}

/** Key paused, subscription inactive, role missing: a person may put that right at any time, but not within a second. */
function isRefusal(status: number): boolean {
  return status === 401 || status === 402 || status === 403;
}

function waitAfter(failure: unknown, wait: number, { retryMs: [, max] }: ConnectionTiming): number {
  if (!(failure instanceof SvcError)) return wait;
  const slow = isRefusal(failure.status) ? max / 2 + Math.random() * (max / 2) : wait;
  const asked = Math.min((failure.retryAfter ?? 0) * 1000, maxRetryAfterMs);
  // Many hosts are told the same: what is added keeps them apart.
  return asked > 0 ? Math.max(slow, asked + wait) : slow;
}
