import type { Readable, Writable } from 'node:stream';
import type { WebSocket } from 'ws';

/** Bytes that wait for the relay before the local side is held back. */
const mostWaiting = 1024 * 1024;
/** Of one message. */
const mostSent = 32 * 1024;

/** Sends what a stream says, as `read` has it; while the relay takes nothing, nothing more is read from the stream. */
export function sendTo(socket: WebSocket, input: Readable, read: (chunk: Buffer) => Buffer): void {
  let isHeldBack = false;
  const sent = (): void => {
    if (!isHeldBack || socket.bufferedAmount > mostWaiting / 2) return;
    isHeldBack = false;
    input.resume();
  };
  input.on('data', (chunk: Buffer) => {
    if (socket.readyState !== socket.OPEN) return;
    const bytes = read(chunk);
    for (let at = 0; at < bytes.length; at += mostSent) socket.send(bytes.subarray(at, at + mostSent), sent);
    if (socket.bufferedAmount <= mostWaiting) return;
    isHeldBack = true;
    input.pause();
  });
}

/** Writes messages to a stream unless `isBytes` says that they are none; a stream that takes no more holds back the relay. */
export function takeFrom(
  socket: WebSocket,
  output: Writable,
  isBytes: (message: Buffer, isBinary: boolean) => boolean,
): void {
  let isHeldBack = false;
  socket.on('message', (message: Buffer, isBinary) => {
    if (!isBytes(message, isBinary) || output.destroyed || output.write(message) || isHeldBack) return;
    isHeldBack = true;
    socket.pause();
    output.once('drain', () => {
      isHeldBack = false;
      socket.resume();
    });
  });
}
