import type { Duplex } from 'node:stream';
import { createWebSocketStream, type WebSocket } from 'ws';
import type { Actor } from '../base/actor.ts';
import type { Clock } from '../base/clock.ts';
import type { Kernel } from '../kernel.ts';
import type { Sockets } from './sockets.ts';

const pingEveryMs = 30_000;
const closeMs = 2_000;
const expiryLookMs = 5_000;

/** Bounds of a WebSocket that carries bytes. */
export interface ByteBounds {
  /** Bytes of one message, and of those that wait for either side before the other one is held back. */
  readonly mostBytes: number;
  /** Time between pings (milliseconds; 30 s if unset). A client that answered none of the last two is ended. */
  readonly pingEveryMs?: number;
}

/** A WebSocket as a stream, and what ends it besides its client. */
interface Carried {
  readonly kernel: Pick<Kernel, 'clock' | 'streams'>;
  readonly actor: Actor | undefined;
  readonly sockets: Sockets;
}

/**
 * Makes a WebSocket one stream of the bytes of its messages, both ways. It must be made before the first message, which is
 * lost otherwise. The stream ends with the socket: when its client leaves or answers no pings, when the rights of `actor`
 * end (1008), and when the process stops (1001).
 */
export function carryBytes(socket: WebSocket, bounds: ByteBounds, { kernel, actor, sockets }: Carried): Duplex {
  const { clock } = kernel;
  const { mostBytes } = bounds;
  const duplex = createWebSocketStream(socket, { readableHighWaterMark: mostBytes, writableHighWaterMark: mostBytes });
  // A `close` follows.
  duplex.on('error', () => {});
  // A socket that is closed takes nothing: who has read to its end needs no half of it.
  duplex.once('end', () => duplex.destroy());
  const end = (code: number, reason: string): void => {
    // The stream ends too if nobody reads it.
    socket.once('close', () => duplex.destroy());
    closeSocket(clock, socket, code, reason);
  };
  const stops = [
    keepAlive(clock, socket, { everyMs: bounds.pingEveryMs, isPatient: true }),
    sockets.hold(end),
    ...(actor ? [watchRights(kernel, actor, (reason) => end(1008, reason))] : []),
  ];
  socket.once('close', () => {
    for (const stop of stops) stop();
    // Its end is told even if nobody reads at this moment.
    duplex.read(0);
  });
  return duplex;
}

/** Calls `end` with the reason when a key is revoked or expires, or its account loses its rights; answers how to forget it. */
export function watchRights(
  { clock, streams }: Pick<Kernel, 'clock' | 'streams'>,
  actor: Actor,
  end: (reason: string) => void,
): () => void {
  const stops = [
    streams.watch(actor, () => end('the key may not be used any more')),
    clock.every(expiryLookMs, () => {
      const { expiresAt } = actor;
      if (expiresAt !== undefined && Date.parse(expiresAt) <= clock.now()) end('the key has expired');
    }),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}

/**
 * Pings a socket, and ends one that answered none of the last two; answers what stops it. `isPatient`: time in which we do
 * not read, and would see no answer, does not count.
 */
export function keepAlive(
  clock: Clock,
  socket: WebSocket,
  { everyMs = pingEveryMs, isPatient = false }: { everyMs?: number | undefined; isPatient?: boolean } = {},
): () => void {
  let unanswered = 0;
  socket.on('pong', () => (unanswered = 0));
  return clock.every(everyMs, () => {
    if (isPatient && socket.isPaused) unanswered = 0;
    if (unanswered === 2) return socket.terminate();
    unanswered++;
    if (socket.readyState === socket.OPEN) socket.ping();
  });
}

/** Closes a socket, with a code that may be sent; one that does not answer is ended after a while. */
export function closeSocket(clock: Clock, socket: WebSocket, code: number, reason: string): void {
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
