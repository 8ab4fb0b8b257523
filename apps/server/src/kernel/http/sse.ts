import type { FastifyReply } from 'fastify';
import type { Clock } from '../clock.ts';
import type { Actor } from './actor.ts';

/** Frames a broadcast stream may have unsent before its client is closed (kernel: Streams). */
const mostFramesBehind = 1_000;
const pingEveryMs = 15_000;

/** One open SSE response. */
export interface EventStream {
  /** Writes a named frame. Answers false when the client is gone or was closed for falling behind. */
  send(event: string, data: unknown): boolean;
  /** The same with data that is JSON text already. */
  sendText(event: string, json: string): boolean;
  /** Called once when the stream has ended, whoever ended it. */
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
  /** Opens the response as a stream of `actor`'s; it ends when the key expires. */
  open(reply: FastifyReply, actor: Actor | undefined): EventStream;
  count(): number;
  /** Ends the streams of a key or an account that lost its rights; a client that still has some comes back. */
  endOf(owner: { keyId: string } | { accountId: string }): void;
  /** Keys of the open streams. */
  keyIds(): string[];
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
  return {
    open(reply, actor) {
      const stream = new SseStream(reply, actor);
      streams.add(stream);
      stream.onClose(() => streams.delete(stream));
      return stream;
    },
    count: () => streams.size,
    endOf(owner) {
      for (const stream of streams) {
        const { actor } = stream;
        if ('keyId' in owner ? actor?.keyId === owner.keyId : actor?.accountId === owner.accountId) stream.end();
      }
    },
    keyIds: () => [...new Set([...streams].flatMap(({ actor }) => actor?.keyId ?? []))],
    endAll() {
      for (const stream of streams) stream.end();
    },
    close() {
      stop();
      this.endAll();
    },
  };
}

class SseStream implements EventStream {
  readonly actor: Actor | undefined;
  readonly #raw: FastifyReply['raw'];
  readonly #closeHandlers: (() => void)[] = [];
  #behind = 0;
  #closed = false;

  constructor(reply: FastifyReply, actor: Actor | undefined) {
    this.actor = actor;
    this.#raw = reply.raw;
    const headers = reply.getHeaders();
    reply.hijack();
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
    return this.#write(`event: ${event}\ndata: ${json}\n\n`);
  }

  ping(): void {
    this.#write(': ping\n\n');
  }

  onClose(handler: () => void): void {
    if (this.#closed) handler();
    else this.#closeHandlers.push(handler);
  }

  end(): void {
    if (!this.#closed) this.#raw.end();
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

  #write(frame: string): boolean {
    if (this.#closed || this.#raw.writableEnded) return false;
    if (this.#behind >= mostFramesBehind) {
      this.destroy();
      return false;
    }
    this.#behind += 1;
    this.#raw.write(frame, this.#sent);
    return true;
  }

  readonly #sent = (): void => {
    this.#behind -= 1;
  };

  #finish(): void {
    this.#closed = true;
    for (const handler of this.#closeHandlers.splice(0)) handler();
  }
}
