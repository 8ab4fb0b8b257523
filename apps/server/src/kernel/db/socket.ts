import type { Socket } from 'node:net';
import { Owed } from './owed.ts';

/** Length of the start-up parameter that makes the start-up message longer than what postgres.js holds back to batch. */
export const startupPadding = 1_024;
const protocolVersion = 196_608;

/**
 * Works around two faults of postgres.js 3.4.9 when a connection breaks. A query made between the socket's `error` and its
 * `close` is never answered: here both come in one turn. And a write that was waiting when the socket closed stays in the
 * connection's buffer, with its timer marked as set, so that nothing is ever written again: the start-up message is made
 * long enough (`startupPadding`) to be written at once, and what stands before it is dropped.
 *
 * With `silentMs` it also ends a connection whose server was asked and says nothing for so long: a machine that lost its
 * power or its network resets nothing, and everything would wait. Call it after `connect`, or once TLS is there: Node puts
 * a `write` of its own on a socket that connects.
 */
export function guarded<T extends Socket>(socket: T, silentMs?: number): T {
  let failure: Error | undefined;
  let isStarted = false;
  const owed = new Owed();
  const fallSilent = (): void => {
    if (owed.isAwaited) socket.destroy(Object.assign(new Error('the database says nothing'), { code: 'ETIMEDOUT' }));
  };
  const silence = silentMs === undefined ? undefined : setTimeout(fallSilent, silentMs).unref();
  const emit = socket.emit.bind(socket);
  // The one of its class, under the one that Node has put on it.
  const write = (Object.getPrototypeOf(socket) as Socket).write.bind(socket);
  socket.emit = (event: string | symbol, ...values: unknown[]): boolean => {
    if (event === 'error') {
      failure = values[0] as Error;
      return true;
    }
    if (event === 'close') {
      clearTimeout(silence);
      if (failure) emit('error', failure);
    }
    if (event === 'data') {
      if (silence) owed.heard(values[0] as Buffer);
      silence?.refresh();
    }
    return emit(event as 'close', ...(values as [boolean]));
  };
  socket.write = (bytes: Buffer, ...rest: never[]): boolean => {
    if (!owed.isAwaited) silence?.refresh();
    const whole = isStarted ? bytes : bytes.subarray(startupAt(bytes));
    if (silence) owed.sent(whole);
    // Never "full": `begin` is lost where a write says so (`mostPipelined` in db.ts).
    write(whole, ...rest);
    isStarted = true;
    return true;
  };
  return socket;
}

/** Breaks with this error as soon as something is written: postgres.js forgets a connection that gets no socket. */
export function refusing<T extends Socket>(socket: T, error: Error): T {
  socket.write = () => {
    process.nextTick(() => socket.destroy(error));
    return true;
  };
  return socket;
}

/** Where the start-up message begins: it ends the buffer, its length and the protocol's version begin it. */
function startupAt(bytes: Buffer): number {
  for (let at = 0; at + 8 <= bytes.length; at++) {
    if (bytes.readInt32BE(at) === bytes.length - at && bytes.readInt32BE(at + 4) === protocolVersion) return at;
  }
  return 0;
}
