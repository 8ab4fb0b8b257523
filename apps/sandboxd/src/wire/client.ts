import { connect, type Socket } from 'node:net';
import {
  createDecoder,
  encodeCredit,
  encodeFrame,
  encodeJson,
  type Frame,
  frameType,
  parseJson,
  windowBytes,
} from './frames.ts';
import {
  type GuestEnd,
  type GuestEvent,
  type GuestKind,
  type GuestRequest,
  readEnd,
  readEvent,
  type ShimMessage,
  type TerminalEvent,
} from './messages.ts';

/** Handlers of the owner of a channel, for a request of kind `K`. */
interface ChannelHandlers<K extends GuestKind> {
  /** Bytes of stream 1 or 2; `done` returns the credit, once they are passed on. */
  data?(bytes: Buffer, stream: 1 | 2, done: () => void): void;
  eof?(): void;
  event?(event: GuestEvent<K>): void;
  /** The end of the request; `lost` when the sandbox went away instead of answering: then `end` holds defaults. */
  close(end: GuestEnd<K>, lost: boolean): void;
  /** There is credit again. */
  drain?(): void;
}

/** One conversation with the guest agent. */
export interface Channel {
  /** Sends bytes; false when the reader asks to wait for `drain`. */
  write(bytes: Buffer): boolean;
  event(event: TerminalEvent): void;
  eof(): void;
  /** Gives it up: a command is ended, a connection is closed. Nothing is heard any more. */
  cancel(): void;
}

/** A connection to a shim. */
export interface ShimClient {
  open<K extends GuestKind>(request: GuestRequest<K>, handlers: ChannelHandlers<K>): Channel;
  /** A request whose only answer is its end; rejects when the sandbox went away, not when the agent refuses. */
  ask<K extends GuestKind>(request: GuestRequest<K>): Promise<GuestEnd<K>>;
  /** Tells the shim something and waits until it has acted. */
  tell(message: ShimMessage): Promise<void>;
  /** Settles when the connection ended: the shim is gone, or another sandboxd took over. */
  readonly closed: Promise<void>;
  close(): void;
}

/** The handlers of a channel, behind the schemas of its kind. */
interface Hearer {
  data: ((bytes: Buffer, stream: 1 | 2, done: () => void) => void) | undefined;
  eof(): void;
  event(payload: Record<string, unknown>): void;
  close(payload: Record<string, unknown>, lost: boolean): void;
  drain(): void;
}

/** The state of an open channel at this end. */
interface OpenChannel {
  hearer: Hearer;
  credit: number;
  /** Bytes of data whose credit was not returned. */
  unread: number;
}

/** An agent oversteps a window by what the pipes of a command held at its end (384 KiB); one that lies, by anything. */
const mostUnread = 4 * windowBytes;

/** Connects to the shim at a socket path. */
export async function connectShim(path: string): Promise<ShimClient> {
  const socket = await new Promise<Socket>((resolve, reject) => {
    const made = connect(path, () => resolve(made));
    made.once('error', reject);
  });
  return createClient(socket);
}

function createClient(socket: Socket): ShimClient {
  const channels = new Map<number, OpenChannel>();
  const told: ((isAnswered: boolean) => void)[] = [];
  const ended = Promise.withResolvers<void>();
  let next = 1;
  const decode = createDecoder((frame) => {
    if (frame.channel === 0) told.shift()?.(true);
    else receive(frame, channels, socket);
  });
  socket.on('data', (chunk: Buffer) => {
    try {
      decode(chunk);
    } catch {
      socket.destroy();
    }
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    for (const answer of told.splice(0)) answer(false);
    const lost = [...channels.values()];
    channels.clear();
    for (const { hearer } of lost) hearer.close({}, true);
    ended.resolve();
  });
  const open = <K extends GuestKind>(request: GuestRequest<K>, handlers: ChannelHandlers<K>): Channel => {
    const number = next;
    next += 2;
    const hearer = hearerOf(request.kind, handlers);
    if (socket.destroyed) {
      queueMicrotask(() => hearer.close({}, true));
      return { write: () => true, event() {}, eof() {}, cancel() {} };
    }
    const opened: OpenChannel = { hearer, credit: windowBytes, unread: 0 };
    channels.set(number, opened);
    socket.write(encodeJson(number, frameType.open, request));
    return channelOf(number, opened, channels, socket);
  };
  return {
    open,
    ask: <K extends GuestKind>(request: GuestRequest<K>) =>
      new Promise<GuestEnd<K>>((resolve, reject) => {
        open<K>(request, {
          close: (end, lost) => (lost ? reject(new Error('the sandbox went away')) : resolve(end)),
        });
      }),
    tell: (message) =>
      new Promise((resolve, reject) => {
        if (socket.destroyed) return reject(new Error('the sandbox went away'));
        told.push((isAnswered) => (isAnswered ? resolve() : reject(new Error('the sandbox went away'))));
        socket.write(encodeJson(0, frameType.event, message));
      }),
    closed: ended.promise,
    close: () => socket.destroy(),
  };
}

function hearerOf<K extends GuestKind>(kind: K, handlers: ChannelHandlers<K>): Hearer {
  return {
    data: handlers.data && ((bytes, stream, done) => handlers.data?.(bytes, stream, done)),
    eof: () => handlers.eof?.(),
    event(payload) {
      const event = readEvent(kind, payload);
      if (event !== undefined) handlers.event?.(event);
    },
    close: (payload, lost) => handlers.close(readEnd(kind, payload), lost),
    drain: () => handlers.drain?.(),
  };
}

function channelOf(number: number, opened: OpenChannel, channels: Map<number, OpenChannel>, socket: Socket): Channel {
  const isOpen = (): boolean => channels.get(number) === opened;
  return {
    write(bytes) {
      if (!isOpen()) return true;
      opened.credit -= bytes.length;
      socket.write(encodeFrame(number, frameType.data, bytes));
      return opened.credit > 0;
    },
    event(event) {
      if (isOpen()) socket.write(encodeJson(number, frameType.event, event));
    },
    eof() {
      if (isOpen()) socket.write(encodeFrame(number, frameType.eof, Buffer.alloc(0)));
    },
    cancel() {
      if (!isOpen()) return;
      channels.delete(number);
      socket.write(encodeJson(number, frameType.close, {}));
    },
  };
}

/** Ends a channel whose agent does not wait for its reader. */
function giveUp(channel: number, { hearer }: OpenChannel, channels: Map<number, OpenChannel>, socket: Socket): void {
  channels.delete(channel);
  socket.write(encodeJson(channel, frameType.close, {}));
  hearer.close({ error: { code: 'internal_error', message: 'the sandbox sent more than it may' } }, false);
}

function receive({ channel, type, payload }: Frame, channels: Map<number, OpenChannel>, socket: Socket): void {
  const opened = channels.get(channel);
  if (!opened) return;
  const { hearer } = opened;
  if (type === frameType.data || type === frameType.data2) {
    const bytes = payload.length;
    opened.unread += bytes;
    if (opened.unread > mostUnread) return giveUp(channel, opened, channels, socket);
    const done = (): void => {
      opened.unread -= bytes;
      if (channels.get(channel) === opened) socket.write(encodeCredit(channel, bytes));
    };
    if (hearer.data) hearer.data(payload, type === frameType.data ? 1 : 2, done);
    else done();
  } else if (type === frameType.eof) hearer.eof();
  else if (type === frameType.event) hearer.event(parseJson(payload));
  else if (type === frameType.credit) {
    opened.credit = Math.min(windowBytes, opened.credit + payload.readUInt32BE(0));
    if (opened.credit > 0) hearer.drain();
  } else if (type === frameType.close) {
    channels.delete(channel);
    hearer.close(parseJson(payload), false);
  }
}
