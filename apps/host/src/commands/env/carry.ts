import type { Readable, Writable } from 'node:stream';
import type { WebSocket } from 'ws';
import { keepAlive } from './attach.ts';
import { sendTo, takeFrom } from './flow.ts';

/** The two directions of a local connection, which may be one stream. */
interface LocalSide {
  /** What is written here goes to the machine. */
  input: Readable;
  /** Takes what the machine says. */
  output: Writable;
}

/** Once the local side has ended, the machine is heard until it says nothing for so long. */
const quietMs = 5_000;
const closeMs = 2_000;

/**
 * Carries bytes both ways until the WebSocket is closed; a slow side holds back the other one. Answers whether the machine
 * ended it in order: else bytes may be missing. A WebSocket has no half that ends by itself: the machine does not hear that the
 * local side has ended, and what it answers is read until it closes the connection or is quiet for 5 s.
 */
export function carry({ input, output }: LocalSide, socket: WebSocket): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  let isOwnEnd = false;
  let quiet: NodeJS.Timeout | undefined;
  const close = (): void => {
    if (socket.readyState >= socket.CLOSING) return;
    isOwnEnd = true;
    clearTimeout(quiet);
    if (socket.isPaused) socket.resume();
    socket.close(1000);
    const cut = setTimeout(() => socket.terminate(), closeMs);
    socket.once('close', () => clearTimeout(cut));
  };
  const onQuiet = (): void => {
    // What waits for either side is no silence of the machine.
    if (socket.isPaused || socket.bufferedAmount > 0) quiet?.refresh();
    else close();
  };
  sendTo(socket, input, (chunk) => chunk);
  takeFrom(socket, output, () => {
    quiet?.refresh();
    return true;
  });
  input.once('end', () => (quiet = setTimeout(onQuiet, quietMs)));
  input.on('error', close);
  output.on('error', close).once('close', close);
  keepAlive(socket);
  socket.once('close', (code) => {
    clearTimeout(quiet);
    // Nothing is taken any more: it is read and dropped, so that its end is seen.
    input.resume();
    resolve(isOwnEnd || code === 1000 || code === 1005);
  });
  // Both were held back until everything was in place.
  input.resume();
  socket.resume();
  return promise;
}
