import type { RawData, WebSocket } from 'ws';

/** Bytes that may wait for one side before the other one is held back. */
const mostWaiting = 1024 * 1024;

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

const bytesOf = (data: RawData): Buffer =>
  Buffer.isBuffer(data) ? data : Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
