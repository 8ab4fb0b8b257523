import type { FastifyReply } from 'fastify';
import type { Clock } from '../base/clock.ts';
import { type Actor, isWhose } from '../base/actor.ts';
import { endWithClient } from '../base/half-closed.ts';

/** Limits of a stream's unsent frames, before its client is closed (kernel: Streams). */
const mostFramesBehind = 1_000;
const mostBytesBehind = 1024 * 1024;
/** Limits of unsent large frames, of all streams and of one account's: each frame may be 12 MiB. */
const mostBehindOfAll = 72 * 1024 * 1024;
const mostBehindOfOne = 25 * 1024 * 1024;
const largeBytes = 64 * 1024;
/** Limits of one write; beyond them frames do not wait for the end of the turn. */
const mostBytesAtOnce = 16 * 1024;
const mostFramesAtOnce = 64;
const pingEveryMs = 15_000;

/** What stands behind an open stream. */
type Credential = Pick<Actor, 'accountId' | 'credentialId' | 'kind'>;

/** One open SSE response. */
export interface EventStream {
  /** Writes a named frame. Answers false when the client is gone or was closed for falling behind. */
  send(event: string, data: unknown): boolean;
  /** The same with data that is JSON text already. */
  sendText(event: string, json: string): boolean;
  /**
   * The same for a frame that may be taken back while it waits for a client that reads slowly: answers the function that
   * does so, which answers whether it came in time. Undefined when the stream has no room for it, or other streams hold
   * too much that nobody reads; that closes nothing.
   */
  offer(event: string, json: string): (() => boolean) | undefined;
  /** Whether a frame of so many bytes would be taken now. */
  hasRoom(bytes: number): boolean;
  /** Resolves when its client has taken what was written, or is gone. */
  drained(): Promise<void>;
  /** Called once when the stream has ended, for any reason. */
  onClose(handler: () => void): void;
  /** Ends the stream cleanly. */
  end(): void;
  /** Ends the connection at once; for a peer that is gone. */
  destroy(): void;
  readonly closed: boolean;
  /** Bytes written and not yet handed to the kernel's socket, and in all; for half-open detection. */
  socketProgress(): { written: number; localPort: number; remotePort: number } | undefined;
}

/** All open streams of the process: one timer pings them, and a shutdown ends them. */
export interface EventStreams {
  /**
   * Opens the response as a stream of `actor`'s; it ends when the key expires. Its client is closed when it is more than
   * 1,000 frames or `mostBytes` (1 MiB) behind.
   */
  open(reply: FastifyReply, actor: Actor | undefined, mostBytes?: number): EventStream;
  /** Calls `end` when the rights behind something that is open are gone, such as an answer under way; answers how to forget it. */
  watch(actor: Actor, end: () => void): () => void;
  count(): number;
  /** Ends the streams of a credential, or of an account, that lost its rights; a client that still has some comes back. */
  endOf(owner: { accountId: string; credentialId?: string }): void;
  /** Credentials behind the open streams. */
  credentials(): Credential[];
  endAll(): void;
  close(): void;
}

/** Makes the registry of streams; `: ping` goes to each every 15 s. */
export function createEventStreams(clock: Clock): EventStreams {
  const streams = new Set<SseStream>();
  const stop = clock.every(pingEveryMs, () => {
    for (const stream of streams) {
      const expiresAt = stream.actor?.expiresAt;
      if (expiresAt !== undefined && Date.parse(expiresAt) <= clock.now()) stream.end();
      else stream.ping();
    }
  });
  const others = new Set<{ actor: Actor; end: () => void }>();
  const hasRoomFor = (asked: SseStream, bytes: number): boolean => {
    let [all, own] = [bytes, bytes];
    for (const stream of streams) {
      const { behind, actor } = stream;
      all += behind;
      if (actor?.accountId === asked.actor?.accountId) own += behind;
    }
    return own <= mostBehindOfOne && all <= mostBehindOfAll;
  };
  return {
    watch(actor, end) {
      const other = { actor, end };
      others.add(other);
      return () => void others.delete(other);
    },
    open(reply, actor, mostBytes = mostBytesBehind) {
      const stream = new SseStream(reply, actor, mostBytes, hasRoomFor);
      streams.add(stream);
      stream.onClose(() => streams.delete(stream));
      return stream;
    },
    count: () => streams.size,
    endOf(owner) {
      for (const stream of [...streams, ...others]) {
        const { actor } = stream;
        if (actor && isWhose(actor, owner)) stream.end();
      }
    },
    credentials: () => {
      const found = new Map<string, Credential>();
      for (const { actor } of [...streams, ...others]) if (actor) found.set(actor.credentialId, actor);
      return [...found.values()].map(({ accountId, credentialId, kind }) => ({ accountId, credentialId, kind }));
    },
    endAll() {
      for (const stream of streams) stream.end();
    },
    close() {
      stop();
      this.endAll();
    },
  };
}

interface Frame {
  text: string;
  bytes: number;
}

class SseStream implements EventStream {
  readonly actor: Actor | undefined;
  readonly #raw: FastifyReply['raw'];
  readonly #mostBytes: number;
  readonly #closeHandlers: (() => void)[] = [];
  /** Frames that wait until the socket takes more: what is here can still be taken back. */
  readonly #waiting = new Set<Frame>();
  #waitingBytes = 0;
  #closed = false;
  #isFlushing = false;

  readonly #hasRoomFor: (asked: SseStream, bytes: number) => boolean;

  constructor(
    reply: FastifyReply,
    actor: Actor | undefined,
    mostBytes: number,
    hasRoomFor: (asked: SseStream, bytes: number) => boolean,
  ) {
    this.actor = actor;
    this.#hasRoomFor = hasRoomFor;
    this.#mostBytes = mostBytes;
    this.#raw = reply.raw;
    const headers = reply.getHeaders();
    reply.hijack();
    endWithClient(this.#raw);
    if (!this.#raw.headersSent && !this.#raw.destroyed) {
      this.#raw.writeHead(200, {
        ...(headers as Record<string, string>),
        'content-type': 'text/event-stream',
        'cache-control': 'no-store',
        'x-accel-buffering': 'no',
        'x-svc-cost-estimate': 'pending',
        connection: 'keep-alive',
      });
      // Node holds the head back until the first frame, which may be long in coming: the client must see it is open.
      this.#raw.flushHeaders();
    }
    // The client may have gone before the stream was opened.
    if (this.#raw.closed || this.#raw.destroyed) this.#closed = true;
    else this.#raw.once('close', () => this.#finish());
  }

  get closed(): boolean {
    return this.#closed;
  }

  send(event: string, data: unknown): boolean {
    return this.sendText(event, JSON.stringify(data));
  }

  sendText(event: string, json: string): boolean {
    return this.#send(frameOf(event, json));
  }

  offer(event: string, json: string): (() => boolean) | undefined {
    const frame = frameOf(event, json);
    if (!this.hasRoom(frame.bytes)) return undefined;
    this.#write(frame);
    return () => {
      const isTaken = this.#waiting.delete(frame);
      if (isTaken) this.#waitingBytes -= frame.bytes;
      return isTaken;
    };
  }

  hasRoom(bytes: number): boolean {
    if (this.#isOver || !this.#takes(bytes)) return false;
    return bytes <= largeBytes || this.#hasRoomFor(this, bytes);
  }

  drained(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#flush();
    const isIdle = !this.#raw.writableNeedDrain && this.#waiting.size === 0;
    if (this.#isOver || isIdle) setImmediate(resolve);
    const done = (): void => {
      this.#raw.off('drain', done).off('close', done);
      resolve();
    };
    if (!this.#isOver && !isIdle) this.#raw.on('drain', done).on('close', done);
    return promise;
  }

  ping(): void {
    // A slow reader still gets bytes: it needs no ping.
    if (!this.#raw.writableNeedDrain) this.#send({ text: ': ping\n\n', bytes: 8 });
  }

  onClose(handler: () => void): void {
    if (this.#closed) handler();
    else this.#closeHandlers.push(handler);
  }

  end(): void {
    if (this.#isOver) return;
    for (const { text } of this.#waiting) this.#raw.write(text);
    this.#waiting.clear();
    this.#raw.end();
  }

  destroy(): void {
    this.#raw.destroy();
  }

  socketProgress(): { written: number; localPort: number; remotePort: number } | undefined {
    const { socket } = this.#raw;
    if (!socket || socket.localPort === undefined || socket.remotePort === undefined) return undefined;
    const written = socket.bytesWritten - socket.writableLength;
    return { written, localPort: socket.localPort, remotePort: socket.remotePort };
  }

  get #isOver(): boolean {
    // Destroyed: its `close` comes later in this turn, and it takes no more until then.
    return this.#closed || this.#raw.destroyed || this.#raw.writableEnded;
  }

  /** Bytes that its client has not taken. */
  get behind(): number {
    return this.#waitingBytes + this.#raw.writableLength;
  }

  /** One frame is taken whatever its length, or it could never be sent. */
  #takes(bytes: number): boolean {
    const { behind } = this;
    return this.#waiting.size < mostFramesBehind && (behind === 0 || behind + bytes <= this.#mostBytes);
  }

  #send(frame: Frame): boolean {
    if (this.#isOver) return false;
    if (!this.#takes(frame.bytes)) {
      this.destroy();
      return false;
    }
    this.#write(frame);
    return true;
  }

  /** Frames of one turn go out together, in one write: to a host that is asked 16 things at once that is one packet. */
  #write(frame: Frame): void {
    this.#waiting.add(frame);
    this.#waitingBytes += frame.bytes;
    if (this.#waitingBytes >= mostBytesAtOnce || this.#waiting.size >= mostFramesAtOnce) this.#flush();
    else if (!this.#isFlushing) {
      this.#isFlushing = true;
      setImmediate(this.#flushTurn);
    }
  }

  readonly #flushTurn = (): void => {
    this.#isFlushing = false;
    this.#flush();
  };

  readonly #flush = (): void => {
    while (this.#waiting.size > 0 && !this.#isOver && !this.#raw.writableNeedDrain) {
      let text = '';
      for (const frame of this.#waiting) {
        if (text !== '' && text.length + frame.text.length > mostBytesAtOnce) break;
        this.#waiting.delete(frame);
        this.#waitingBytes -= frame.bytes;
        text += frame.text;
      }
      if (!this.#raw.write(text)) this.#raw.once('drain', this.#flush);
    }
  };

  #finish(): void {
    this.#closed = true;
    this.#waiting.clear();
    this.#waitingBytes = 0;
    for (const handler of this.#closeHandlers.splice(0)) handler();
  }
}

function frameOf(event: string, json: string): Frame {
  const text = `event: ${event}\ndata: ${json}\n\n`;
  return { text, bytes: Buffer.byteLength(text) };
}
