import type { RawData, WebSocket } from 'ws';
import type { Clock } from '../../kernel/base/clock.ts';

/** Bytes that may wait for one side before the other one is held back. */
const mostWaiting = 1024 * 1024;
const pingEveryMs = 30_000;
const closeMs = 2_000;

/** One message, as it came. */
export interface Message {
  bytes: Buffer;
  isBinary: boolean;
}

/** Sees a message before it goes on; answers what goes on in its place, undefined for nothing. */
type See = (message: Message) => Message | undefined;

/** Carries messages from one socket to another, in order, and holds back a side whose other side does not read. */
export function carry(from: WebSocket, to: WebSocket, see: See): void {
  from.on('message', (data: RawData, isBinary: boolean) => {
    if (to.readyState !== to.OPEN) return;
    const message = see({ bytes: bytesOf(data), isBinary });
    if (!message) return;
    const { bytes, isBinary: binary } = message;
    to.send(bytes, { binary }, () => {
      if (to.bufferedAmount <= mostWaiting && from.isPaused) from.resume();
    });
    if (to.bufferedAmount > mostWaiting) from.pause();
  });
}

/** Resolves with the code and reason when the socket is closed; a fault is 1006. */
export function whenClosed(socket: WebSocket): Promise<{ code: number; reason: string }> {
  const { promise, resolve } = Promise.withResolvers<{ code: number; reason: string }>();
  // A `close` follows.
  socket.on('error', () => {});
  socket.once('close', (code: number, reason: Buffer) => resolve({ code, reason: reason.toString() }));
  if (socket.readyState === socket.CLOSED) resolve({ code: 1006, reason: '' });
  return promise;
}

/** Pings a socket, and ends one that answered none of the last two; answers what stops it. */
export function keepAlive(clock: Clock, socket: WebSocket): () => void {
  let unanswered = 0;
  socket.on('pong', () => (unanswered = 0));
  return clock.every(pingEveryMs, () => {
    if (unanswered === 2) return socket.terminate();
    unanswered++;
    if (socket.readyState === socket.OPEN) socket.ping();
  });
}

/** Closes a socket, with a code that may be sent; one that does not answer is ended after a while. */
export function close(clock: Clock, socket: WebSocket, code: number, reason: string): void {
  // The rest of its messages is read to the end, or its own `close` would never come.
  if (socket.isPaused) socket.resume();
  socket.close(isSendable(code) ? code : 1011, cutTo123(reason));
  const cancel = clock.after(closeMs, () => socket.terminate());
  socket.once('close', cancel);
}

const isSendable = (code: number): boolean =>
  (code >= 3000 && code <= 4999) || (code >= 1000 && code <= 1014 && ![1004, 1005, 1006].includes(code));

/** Cuts a reason to the bytes that a close frame has room for. */
const cutTo123 = (reason: string): string =>
  Buffer.from(reason)
    .subarray(0, 123)
    .toString()
    .replace(/\ufffd+$/, '');

const bytesOf = (data: RawData): Buffer =>
  Buffer.isBuffer(data) ? data : Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
