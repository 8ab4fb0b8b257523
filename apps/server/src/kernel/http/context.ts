import type { IncomingHttpHeaders } from 'node:http';
import { type Duplex, Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { WebSocket } from 'ws';
import type { Actor } from '../base/actor.ts';
import type { Who } from '../records/audit.ts';
import { enterAsApp } from '../records/let-in.ts';
import type { Clock } from '../base/clock.ts';
import { type Db, inTransaction, type Sql, writeWithCommit } from '../db/db.ts';
import type { Frames } from './frames.ts';
import { endWithClient } from '../base/half-closed.ts';
import type { Kernel } from '../kernel.ts';
import type { Log } from '../base/log.ts';
import { RelayedAnswer } from './relay.ts';
import { type ByteBounds, carryBytes } from './sockets.bytes.ts';
import { acceptSocket } from './sockets.ts';
import type { SpooledBody } from './spool.ts';
import type { View } from '../streams/feed.ts';
import type { EventStream } from '../streams/sse.ts';

/** One request as an operation sees it. The actor is in here, never in the input. */
export class Context {
  readonly kernel: Kernel;
  readonly traceId: string;
  /** Where the frames of this call go; undefined when it asked for JSON. */
  readonly frames: Frames | undefined;
  /** The caller wants events in place of bytes, on a route that has both. */
  readonly isStreamed: boolean;
  readonly #request: FastifyRequest;
  readonly #reply: FastifyReply;
  #abort: AbortController | undefined;
  /** Of those who want to hear that the caller is gone; undefined until somebody does. */
  #handlers: Set<() => void> | undefined;
  #isGone = false;
  #events: EventStream | undefined;
  #relay: RelayedAnswer | undefined;
  #socket: WebSocket | undefined;
  #heldBytes = 0;
  /** Goes out with the commit of each transaction of this request. */
  lastStatement: ((tx: Db) => Promise<void>) | undefined;

  constructor(kernel: Kernel, request: FastifyRequest, reply: FastifyReply, frames?: Frames, isStreamed = false) {
    this.kernel = kernel;
    this.frames = frames;
    this.isStreamed = isStreamed;
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

  /** The address that the request came from. */
  get address(): string {
    return this.#request.ip;
  }

  /** The caller, for the audit log. */
  get by(): Who {
    const { kind, keyId, credentialId, accountId } = this.actor;
    const from = { accountId, address: this.#request.ip, traceId: this.traceId };
    return kind === 'login' ? { kind, loginId: credentialId, ...from } : { kind: 'key', keyId, ...from };
  }

  /** The address at which this process was reached, as a URL: behind a proxy the one that the proxy uses. */
  get servedAt(): string {
    const { localAddress = '127.0.0.1', localPort = 0 } = this.#request.socket;
    const host = localAddress.replace(/^::ffff:(?=\d+\.)/, '');
    return `${this.kernel.config.tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${localPort}`;
  }

  /** `x-svc-device` of the call, already registered. */
  get deviceId(): string | undefined {
    return this.#request.deviceId;
  }

  /** Gives the browser that asks these cookies, as lines of `set-cookie`. */
  setCookies(lines: readonly string[]): void {
    if (lines.length > 0) this.#reply.header('set-cookie', [...lines]);
  }

  /** The first bytes of the body, on a route that takes anything. */
  get anything(): Buffer {
    const { body } = this.#request;
    return Buffer.isBuffer(body) ? body : Buffer.alloc(0);
  }

  /** Bytes that the request says its body has; 0 where it does not say. */
  get bodyLength(): number {
    return Number(this.#request.headers['content-length'] ?? 0);
  }

  /** The bytes of a JSON body, on a route that passes them on. */
  get bodyBytes(): Buffer {
    return this.#request.bodyBytes ?? Buffer.alloc(0);
  }

  /**
   * Counts bytes of a form that the operation keeps in memory, until its answer is over. Throws 429 or 503 when the
   * account, or all together, keep too many at once.
   */
  hold(bytes: number): void {
    const { raw } = this.#reply;
    // Its client left: what is read on ends by itself, and nothing would let these bytes go.
    if (raw.destroyed) return;
    const { bodies } = this.#request.server;
    const owner = this.actor.accountId;
    bodies.holdForm(owner, bytes);
    if (this.#heldBytes === 0) raw.once('close', () => bodies.releaseForm(owner, this.#heldBytes));
    this.#heldBytes += bytes;
  }

  /**
   * Waits until it is the account's turn to make a long answer, and has the turn until the answer is made: of those that
   * are made at once, each keeps its rows in memory. Throws 503 when too many of the account wait.
   */
  beginLong(): Promise<void> {
    const [begun, made] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    this.endLong();
    this.endLong = made.resolve;
    const wait = async (): Promise<void> => {
      begun.resolve();
      await made.promise;
    };
    this.#request.server.long.run(this.actor.accountId, wait, this.signal).catch(begun.reject);
    return begun.promise;
  }

  /** Gives the turn of `beginLong` back. */
  endLong: () => void = () => {};

  /** Lets the body go before the answer ends: a stream may last for minutes, and none of it is needed any more. */
  dropBody(): void {
    const { body } = this.#request;
    if (typeof body === 'object' && body !== null)
      for (const name of Object.keys(body)) Reflect.deleteProperty(body, name);
    this.#request.bodyBytes = Buffer.alloc(0);
    this.#request.releaseBody?.();
  }

  /**
   * Moves the body from memory to disk while somebody else works on it; undefined if it has to stay. The caller drops the result.
   */
  async spoolBody(): Promise<SpooledBody | undefined> {
    const { spool } = this.#request.server.bodies;
    const spooled = await spool.put(this.actor.accountId, this.bodyBytes);
    if (spooled) this.dropBody();
    return spooled;
  }

  /** The bytes of a body that was put on disk, with room in memory. Throws 429 or 503 when no room is free within 10 s. */
  async bodyAgain(spooled: SpooledBody): Promise<Buffer> {
    const { bodies } = this.#request.server;
    const owner = this.actor.accountId;
    await bodies.wait(owner, spooled.bytes, this.signal);
    let isHeld = true;
    const release = (): void => {
      if (isHeld) bodies.release(owner, spooled.bytes);
      isHeld = false;
    };
    this.#request.releaseBody = release;
    this.#reply.raw.once('close', release);
    if (this.#reply.raw.closed) release();
    this.#request.bodyBytes = await spooled.read();
    return this.#request.bodyBytes;
  }

  /** The request's headers, for a route that passes them on. */
  get headers(): IncomingHttpHeaders {
    return this.#request.headers;
  }

  /** The operation records the usage of this request itself, with what it cost. */
  accountItself(): void {
    this.#request.isAccounted = true;
  }

  /** The answer of a route that relays one. */
  openRelay(): RelayedAnswer {
    this.#relay ??= new RelayedAnswer(this.#reply, this.clock);
    return this.#relay;
  }

  /** The answer that is relayed, once it is open. */
  get relay(): RelayedAnswer | undefined {
    return this.#relay;
  }

  /** Accepts the WebSocket, once; undefined when its client is gone. Until then a refusal is an ordinary answer. */
  async openSocket(mostBytes: number): Promise<WebSocket | undefined> {
    this.#socket ??= await acceptSocket(this.#request.raw, this.#reply, mostBytes);
    return this.#socket;
  }

  /**
   * Accepts the WebSocket, once, as a stream of the bytes of its messages; undefined when its client is gone. It is closed
   * when the rights of the caller end and when the process stops.
   */
  async openBytes(bounds: ByteBounds): Promise<Duplex | undefined> {
    const { kernel } = this;
    const { actor, server, raw } = this.#request;
    let duplex: Duplex | undefined;
    this.#socket = await acceptSocket(raw, this.#reply, bounds.mostBytes, (socket) => {
      duplex = carryBytes(socket, bounds, { kernel, actor, sockets: server.sockets });
    });
    return duplex;
  }

  /** Calls `end` when the process stops, for a WebSocket whose messages the operation reads; answers how to forget it. */
  holdSocket(end: (code: number, reason: string) => void): () => void {
    return this.#request.server.sockets.hold(end);
  }

  /** The WebSocket, once it is open. */
  get socket(): WebSocket | undefined {
    return this.#socket;
  }

  /** The caller wants the head of the answer only. */
  get isHead(): boolean {
    return this.#request.method === 'HEAD';
  }

  /** `operationId` of the route. */
  get operationId(): string {
    return this.#request.routeOptions.config.operationId ?? '';
  }

  /** When the request came; of `clock.monotonic()`. */
  get startedAt(): number {
    return this.#request.startedAt;
  }

  /** The content type that the client named, on a route that takes bytes. */
  get givenType(): string {
    return this.#request.givenType ?? '';
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
    if (!this.#events) {
      const { actor, deviceId } = this.#request;
      this.#events = this.kernel.streams.open(this.#reply, actor, mostBytes);
      if (actor && deviceId !== undefined)
        this.kernel.deviceStreams.add({ accountId: actor.accountId, deviceId }, this.#events);
    }
    return this.#events;
  }

  /** Answers with an event stream of what happens to the caller's account, after a cursor or from now. */
  follow(view: View, { after }: { after?: string | undefined }, ready: object = {}): Promise<void> {
    const asked = { accountId: this.actor.accountId, after, view, ready };
    return this.kernel.feed.follow(asked, () => this.openEvents());
  }

  /** The event stream, once it is open. */
  get events(): EventStream | undefined {
    return this.#events;
  }

  /** Aborted when the caller goes away before it has its answer. Made when it is asked for first. */
  get signal(): AbortSignal {
    if (!this.#abort) {
      const abort = new AbortController();
      this.#abort = abort;
      this.whenGone(() => abort.abort());
    }
    return this.#abort.signal;
  }

  /**
   * Calls `handler` when the caller goes away before it has its answer, at once when it has; answers how to forget it. A
   * signal costs several times as much, which counts where calls come by the thousand.
   */
  whenGone(handler: () => void): () => void {
    const { raw } = this.#reply;
    if (!this.#handlers) {
      this.#handlers = new Set();
      endWithClient(raw);
      if (raw.destroyed && !raw.writableFinished) this.#isGone = true;
      raw.once('close', () => {
        if (!raw.writableFinished) this.cancel();
      });
    }
    const handlers = this.#handlers;
    if (this.#isGone) handler();
    else handlers.add(handler);
    return () => void handlers.delete(handler);
  }

  /** Ends what runs for this request, as when its caller goes away; for protocols in which another request says so. */
  cancel(): void {
    this.#isGone = true;
    const handlers = [...(this.#handlers ?? [])];
    this.#handlers?.clear();
    for (const handler of handlers) handler();
  }

  /** Runs `work` in one transaction. Of an app it is over when the app is disconnected, or the app's end waits for it. */
  transaction<T>(work: (tx: Db) => Promise<T>): Promise<T> {
    const { lastStatement } = this;
    const connectionId = this.#request.actor?.connectionId;
    return inTransaction(this.kernel.sql, async (tx) => {
      if (connectionId !== undefined) await enterAsApp(tx, connectionId);
      const result = await work(tx);
      if (lastStatement) await writeWithCommit(tx, lastStatement, []);
      return result;
    });
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    traceId: string;
    actor: Actor | undefined;
    deviceId: string | undefined;
    startedAt: number;
    /** Its usage is recorded by its operation. */
    isAccounted?: boolean;
  }
}
