import { Readable } from 'node:stream';
import type { ToolLevel } from '@svc/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../config.ts';
import type { Blobs } from './blobs.ts';
import type { Bus } from './bus.ts';
import type { Clock } from './clock.ts';
import type { Keyring } from './crypto.ts';
import { type Db, inTransaction, type Sql } from './db.ts';
import type { Frames } from './frames.ts';
import type { Gateways } from './gateways.ts';
import type { Jobs } from './jobs.ts';
import type { RateLimiter } from './limits.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';
import type { Outbound } from './outbound.ts';
import type { EventStreams } from './sse.ts';
import type { UsageRecorder } from './usage.ts';

/** What the whole process shares: opened by `main.ts`, passed down, closed in reverse order. */
export interface Kernel {
  readonly config: Config;
  /** Where files of this machine are kept. */
  readonly dataDir: string;
  readonly sql: Sql;
  readonly bus: Bus;
  readonly gateways: Gateways;
  readonly clock: Clock;
  readonly log: Log;
  readonly keyring: Keyring;
  readonly blobs: Blobs;
  readonly jobs: Jobs;
  readonly limiter: RateLimiter;
  /** The only way to addresses that callers name. */
  readonly outbound: Outbound;
  readonly usage: UsageRecorder;
  readonly streams: EventStreams;
  readonly metrics: Metrics;
}

/** Who calls: an active key and what its account may do. */
export interface Actor {
  readonly accountId: string;
  readonly keyId: string;
  readonly subscription: 'active' | 'inactive';
  readonly scopes: readonly string[];
  readonly toolLevel: ToolLevel;
  /** Models the key may use; undefined: all. */
  readonly models: readonly string[] | undefined;
  readonly spendCapMicroUsd: number | undefined;
  /** RFC 3339; undefined: never. */
  readonly expiresAt: string | undefined;
  /** The key has reached its spend cap. */
  readonly spent: boolean;
  readonly features: Readonly<Record<string, boolean>>;
}

/** One request as an operation sees it. The actor is in here, never in the input. */
export class Context {
  readonly kernel: Kernel;
  readonly traceId: string;
  /** Where the frames of this call go; undefined when it asked for JSON. */
  readonly frames: Frames | undefined;
  readonly #request: FastifyRequest;
  readonly #reply: FastifyReply;
  #abort: AbortController | undefined;

  constructor(kernel: Kernel, request: FastifyRequest, reply: FastifyReply, frames?: Frames) {
    this.kernel = kernel;
    this.frames = frames;
    this.#request = request;
    this.#reply = reply;
    this.traceId = request.traceId;
  }

  get db(): Sql {
    return this.kernel.sql;
  }

  get clock(): Clock {
    return this.kernel.clock;
  }

  get log(): Log {
    return this.kernel.log;
  }

  /** The caller; open routes have none, and asking there is a fault of ours. */
  get actor(): Actor {
    if (!this.#request.actor) throw new Error('an open route has no actor');
    return this.#request.actor;
  }

  /** `x-svc-device` of the call, already registered. */
  get deviceId(): string | undefined {
    return this.#request.deviceId;
  }

  /** What came of the body of a route with `rawBody`. */
  get rawBody(): Buffer {
    const { body } = this.#request;
    return Buffer.isBuffer(body) ? body : Buffer.alloc(0);
  }

  /** The bytes of a route with `upload`, as they come; fails with 413 past its limit. */
  get upload(): Readable {
    const { body } = this.#request;
    return body instanceof Readable ? body : Readable.from([]);
  }

  /** Aborted when the caller goes away before it has its answer. */
  get signal(): AbortSignal {
    if (!this.#abort) {
      const abort = new AbortController();
      const { raw } = this.#reply;
      if (raw.destroyed && !raw.writableFinished) abort.abort();
      raw.once('close', () => {
        if (!raw.writableFinished) abort.abort();
      });
      this.#abort = abort;
    }
    return this.#abort.signal;
  }

  transaction<T>(work: (tx: Db) => Promise<T>): Promise<T> {
    return inTransaction(this.kernel.sql, work);
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    traceId: string;
    actor: Actor | undefined;
    deviceId: string | undefined;
    startedAt: number;
  }
}
