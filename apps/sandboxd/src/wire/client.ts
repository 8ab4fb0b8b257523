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

/** What the owner of a channel hears. */
export interface ChannelHandlers {
  /** Bytes of stream 1 or 2; `done` returns the credit, once they are passed on. */
  data?(bytes: Buffer, stream: 1 | 2, done: () => void): void;
  eof?(): void;
  event?(payload: Record<string, unknown>): void;
  /** The last word; `lost` when the sandbox went away instead of answering. */
  close(payload: Record<string, unknown>, lost: boolean): void;
  /** There is credit again. */
  drain?(): void;
}

/** One conversation with the guest agent. */
export interface Channel {
  /** Sends bytes; false when the reader asks to wait for `drain`. */
  write(bytes: Buffer): boolean;
  eof(): void;
  /** Gives it up: a command is ended, a connection is closed. Nothing is heard any more. */
  cancel(): void;
}

/** A connection to a shim. */
export interface ShimClient {
  open(request: object, handlers: ChannelHandlers): Channel;
  /** A conversation of one question and one answer; rejects when the sandbox went away. */
  ask(request: object): Promise<Record<string, unknown>>;
  /** Tells the shim something and waits until it has acted. */
  tell(message: object): Promise<Record<string, unknown>>;
  /** Settles when the connection ended: the shim is gone, or another sandboxd took over. */
  readonly closed: Promise<void>;
  close(): void;
}

interface Entry {
  handlers: ChannelHandlers;
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
  const entries = new Map<number, Entry>();
  const told: ((answer: Record<string, unknown> | undefined) => void)[] = [];
  const ended = Promise.withResolvers<void>();
  let next = 1;
  const decode = createDecoder((frame) => {
    if (frame.channel === 0) told.shift()?.(parseJson(frame.payload));
    else receive(frame, entries, socket);
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
    for (const answer of told.splice(0)) answer(undefined);
    const lost = [...entries.values()];
    entries.clear();
    for (const { handlers } of lost) handlers.close({}, true);
    ended.resolve();
  });
  const open = (request: object, handlers: ChannelHandlers): Channel => {
    const number = next;
    next += 2;
    if (socket.destroyed) {
      queueMicrotask(() => handlers.close({}, true));
      return { write: () => true, eof() {}, cancel() {} };
    }
    const entry: Entry = { handlers, credit: windowBytes, unread: 0 };
    entries.set(number, entry);
    socket.write(encodeJson(number, frameType.open, request));
    return channelOf(number, entry, entries, socket);
  };
  return {
    open,
    ask: (request) =>
      new Promise((resolve, reject) => {
        const close: ChannelHandlers['close'] = (payload, lost) =>
          lost ? reject(new Error('the sandbox went away')) : resolve(payload);
        open(request, { close });
      }),
    tell: (message) =>
      new Promise((resolve, reject) => {
        if (socket.destroyed) return reject(new Error('the sandbox went away'));
        told.push((answer) => (answer ? resolve(answer) : reject(new Error('the sandbox went away'))));
        socket.write(encodeJson(0, frameType.event, message));
      }),
    closed: ended.promise,
    close: () => socket.destroy(),
  };
}

function channelOf(number: number, entry: Entry, entries: Map<number, Entry>, socket: Socket): Channel {
  const isOpen = (): boolean => entries.get(number) === entry;
  return {
    write(bytes) {
      if (!isOpen()) return true;
      entry.credit -= bytes.length;
      socket.write(encodeFrame(number, frameType.data, bytes));
      return entry.credit > 0;
    },
    eof() {
      if (isOpen()) socket.write(encodeFrame(number, frameType.eof, Buffer.alloc(0)));
    },
    cancel() {
      if (!isOpen()) return;
      entries.delete(number);
      socket.write(encodeJson(number, frameType.close, {}));
    },
  };
}

/** Ends a channel whose agent does not wait for its reader. */
function giveUp(channel: number, { handlers }: Entry, entries: Map<number, Entry>, socket: Socket): void {
  entries.delete(channel);
  socket.write(encodeJson(channel, frameType.close, {}));
  handlers.close({ error: { code: 'internal_error', message: 'the sandbox sent more than it may' } }, false);
}

function receive({ channel, type, payload }: Frame, entries: Map<number, Entry>, socket: Socket): void {
  const entry = entries.get(channel);
  if (!entry) return;
  const { handlers } = entry;
  if (type === frameType.data || type === frameType.data2) {
    const bytes = payload.length;
    entry.unread += bytes;
    if (entry.unread > mostUnread) return giveUp(channel, entry, entries, socket);
    const done = (): void => {
      entry.unread -= bytes;
      if (entries.get(channel) === entry) socket.write(encodeCredit(channel, bytes));
    };
    if (handlers.data) handlers.data(payload, type === frameType.data ? 1 : 2, done);
    else done();
  } else if (type === frameType.eof) handlers.eof?.();
  else if (type === frameType.event) handlers.event?.(parseJson(payload));
  else if (type === frameType.credit) {
    entry.credit = Math.min(windowBytes, entry.credit + payload.readUInt32BE(0));
    if (entry.credit > 0) handlers.drain?.();
  } else if (type === frameType.close) {
    entries.delete(channel);
    handlers.close(parseJson(payload), false);
  }
}
