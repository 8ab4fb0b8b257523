import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import {
  addressesOf,
  checkUrl,
  OutboundError,
  type OutboundRules,
  type Resolve,
  resolveHere,
  resolvePublic,
  type Target,
} from '@svc/netguard';
import { outboundErrorOf } from '@svc/netguard/faults';
import { decodedBody, type Hop, type KeptBody, readBody, redirected, requestHeaders } from '@svc/http-task/hops';
import type { Clock } from '../base/clock.ts';
import { openClient } from './outbound.connect.ts';

export { OutboundError, type OutboundFailure } from '@svc/netguard';

/** A request, and the limits of its answer. */
export interface OutboundRequest {
  /** Default GET. */
  method?: string;
  /** Those of the connection (`host`, `content-length`, …) are ours and dropped. */
  headers?: Readonly<Record<string, string>>;
  body?: string | Buffer;
  /** Schemes that may be asked, also by redirects. Default `http:` and `https:`. */
  protocols?: readonly string[];
  /** Until the answer's last byte, redirects included. Default 15,000. */
  timeoutMs?: number;
  /** Until an answer's headers. Default 5,000. */
  headersTimeoutMs?: number;
  /** Between two pieces of the answer's body. Default 5,000. */
  idleTimeoutMs?: number;
  /** Redirects that are followed, default 5. With 0 a redirect is an answer as any other. */
  redirects?: number;
  /** Decoded bytes kept of the body, default 3 MiB; there it is cut. */
  maxBytes?: number;
  /** How the answer's body is treated. `ignore`: status and headers are the answer, and nobody waits for the body. */
  answerBody?: 'read' | 'ignore';
  /** Takes the body of a 200 as it comes; the answer's `body` is empty then. It is waited for. */
  sink?: (chunk: Buffer) => Promise<void>;
  /** Ends the request; it then fails as `failed`. */
  signal?: AbortSignal;
  /** Asked for the address and for that of each redirect, before its name is looked up. What it throws is thrown as it is. */
  judge?: (url: URL) => void;
}

/** An answer. */
export interface OutboundAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Decoded. */
  readonly body: Buffer;
  /** The body went on after `maxBytes`. */
  readonly truncated: boolean;
  /** Where it came from, after redirects. */
  readonly url: string;
}

/** The one way out: requests to addresses that callers name reach the public internet and hosts the operator named. */
export interface Outbound {
  /** Makes a request; throws `OutboundError`. Every status is an answer. */
  request(url: string, request?: OutboundRequest): Promise<OutboundAnswer>;
  /** Judges an address as a request would, name look-up included, and connects to nothing; throws `OutboundError`. */
  check(url: string, options?: Pick<OutboundRequest, 'protocols'>): Promise<void>;
  /** Judges the text of an address alone: no name is looked up; throws `OutboundError`. */
  checkText(url: string, options?: Pick<OutboundRequest, 'protocols'>): void;
}

const defaults = {
  protocols: ['http:', 'https:'],
  timeoutMs: 15_000,
  headersTimeoutMs: 5_000,
  idleTimeoutMs: 5_000,
  redirects: 5,
  maxBytes: 3 * 1024 * 1024,
};

/** The settings that are the same for all hops. */
interface Limits {
  readonly protocols: readonly string[];
  readonly headersTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly maxBytes: number;
  readonly answerBody?: 'read' | 'ignore';
  readonly sink?: (chunk: Buffer) => Promise<void>;
  readonly signal: AbortSignal;
  readonly judge?: (url: URL) => void;
}

/** An error of the caller's `judge`: it reaches the caller unchanged. */
class Judged extends Error {
  override name = 'Judged';
}

/**
 * Makes the safe client (design: tools, Fetch). Tests give a resolver of their own; the environment's proxy settings are
 * not read.
 */
export function createOutbound(
  rules: OutboundRules,
  clock: Clock,
  resolve: { public: Resolve; here: Resolve } = { public: resolvePublic, here: resolveHere },
): Outbound {
  const targetOf = async (url: string, protocols: readonly string[], judge?: (url: URL) => void) => {
    const target = judged(checkUrl(url, rules, protocols), judge);
    return { target, addresses: await addressesOf(target, resolve, clock) };
  };

  async function ask(hop: Hop, limits: Limits, follow: boolean): Promise<OutboundAnswer | Hop> {
    const { target, addresses } = await targetOf(hop.url, limits.protocols, limits.judge);
    limits.signal.throwIfAborted();
    const client = await openClient(clock, target, addresses, limits);
    try {
      const { url } = target;
      const response = await client.request({
        path: url.pathname + url.search,
        method: hop.method,
        headers: hop.headers,
        body: hop.body ?? null,
        signal: limits.signal,
      });
      const { statusCode: status, headers } = response;
      const next = follow ? redirected(hop, status, headers['location']) : undefined;
      if (next) return next;
      const read = await takeBody(hop, limits, response);
      return { status, headers, ...read, url: url.href };
    } finally {
      // Also cuts an answer short whose rest nobody wants.
      client.destroy().catch(() => {});
    }
  }

  return {
    async request(url, request = {}) {
      const wanted = { ...defaults, ...request };
      const { method = 'GET', body } = request;
      const limit = new AbortController();
      const cancel = clock.after(wanted.timeoutMs, () => limit.abort(new OutboundError('timeout', 'in all')));
      const signal = request.signal ? AbortSignal.any([request.signal, limit.signal]) : limit.signal;
      let hop: Hop = { url, method, headers: requestHeaders(request.headers ?? {}), body };
      try {
        for (let left = wanted.redirects; ; left--) {
          const result = await unless(signal, ask(hop, { ...wanted, signal }, wanted.redirects > 0));
          if ('status' in result) return result;
          if (left === 0) throw new OutboundError('failed', 'too many redirects');
          hop = result;
        }
      } catch (error) {
        if (error instanceof Judged) throw error.cause;
        throw toOutboundError(error, limit.signal);
      } finally {
        cancel();
        // Ends the parts that still run: nobody waits for them.
        limit.abort();
      }
    },
    async check(url, { protocols = defaults.protocols } = {}) {
      await targetOf(url, protocols);
    },
    checkText: (url, { protocols = defaults.protocols } = {}) => void checkUrl(url, rules, protocols),
  };
}

/** The target, unless the caller has something against it. */
function judged(target: Target, judge: ((url: URL) => void) | undefined): Target {
  try {
    judge?.(target.url);
  } catch (cause) {
    throw new Judged('refused by the caller', { cause });
  }
  return target;
}

async function takeBody(hop: Hop, limits: Limits, response: Dispatcher.ResponseData): Promise<KeptBody> {
  const { statusCode: status, headers, body } = response;
  if (limits.answerBody === 'ignore') {
    // Its client cuts it off, whatever it is, and however long.
    body.on('error', () => {});
    return { body: Buffer.alloc(0), truncated: false };
  }
  const sink = status === 200 ? limits.sink : undefined;
  return readBody(decodedBody(hop.method, { status, headers }, body), limits.maxBytes, sink);
}

/** `work`, or the signal's reason as soon as it is aborted. */
async function unless<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason as Error);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', abort);
    // The loser of the race may fail later; nobody waits for it.
    work.catch(() => {});
    promise.catch(() => {});
  }
}

function toOutboundError(error: unknown, limit: AbortSignal): OutboundError {
  if (!(error instanceof OutboundError) && limit.aborted) return new OutboundError('timeout', error);
  return outboundErrorOf(error);
}
