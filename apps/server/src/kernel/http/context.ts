import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Actor } from './actor.ts';
import type { Who } from '../audit.ts';
import type { Clock } from '../clock.ts';
import { type Db, inTransaction, type Sql } from '../db/db.ts';
import type { Frames } from './frames.ts';
import type { Kernel } from '../kernel.ts';
import type { Log } from '../log.ts';
import type { EventStream } from './sse.ts';

/** One request as an operation sees it. The actor is in here, never in the input. */
export class Context {
  readonly kernel: Kernel;
  readonly traceId: string;
  /** Where the frames of this call go; undefined when it asked for JSON. */
  readonly frames: Frames | undefined;
  readonly #request: FastifyRequest;
  readonly #reply: FastifyReply;
  #abort: AbortController | undefined;
  #events: EventStream | undefined;

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

  /** The caller, for the audit log. */
  get by(): Who {
    return { kind: 'key', keyId: this.actor.keyId, address: this.#request.ip, traceId: this.traceId };
  }

  /** `x-svc-device` of the call, already registered. */
  get deviceId(): string | undefined {
    return this.#request.deviceId;
  }

  /** The first bytes of the body, on a route that takes anything. */
  get anything(): Buffer {
    const { body } = this.#request;
    return Buffer.isBuffer(body) ? body : Buffer.alloc(0);
  }

  /** The body as it comes, on a route that takes bytes; fails with 413 past the route's limit. */
  get upload(): Readable {
    const { body } = this.#request;
    return body instanceof Readable ? body : Readable.from([]);
  }

  /**
   * Sends the head of an event stream, once; on a route that answers events. The operation returns when all is set up. A
   * client that falls more than `mostBytes` behind (1 MiB) is closed.
   */
  openEvents(mostBytes?: number): EventStream {
    this.#events ??= this.kernel.streams.open(this.#reply, this.#request.actor, mostBytes);
    return this.#events;
  }

  /** The event stream, once it is open. */
  get events(): EventStream | undefined {
    return this.#events;
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
