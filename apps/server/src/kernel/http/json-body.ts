import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { type Bodies, endedEarly, smallBytes } from './bodies.ts';
import { ApiError, badRequest } from '../base/errors.ts';
import { nextSlice } from '../base/slices.ts';
import { JsonScanner, parseAtOnce } from './json.ts';
import { askForBody } from './leftover.ts';

/** 12 MiB (document 1, Limits). */
export const bodyLimit = 12 * 1024 * 1024;
/** Of routes that anybody may call. */
const openBodyLimit = 64 * 1024;

type Done = (error: Error | null, body?: unknown) => void;

/**
 * Reads a JSON body of at most 12 MiB, 64 KiB without a key; an empty one counts as none, so that `DELETE` with a content
 * type works. What it takes is held until the request is answered. The hash of its bytes is kept for an `Idempotency-Key`.
 */
export function readJson(bodies: Bodies, request: FastifyRequest, payload: IncomingMessage, done: Done): void {
  const declared = Number(request.headers['content-length'] ?? 0);
  if (declared > 0 && declared <= smallBytes) readSmall(bodies, request, payload, done);
  else readLong(bodies, request, payload, declared).then((body) => done(null, body), done);
}

/** Handlers to call when a connection closes: one listener serves all of its requests. */
const endings = new WeakMap<Socket, Set<() => void>>();
function endingsOf(socket: Socket): Set<() => void> {
  const known = endings.get(socket);
  if (known) return known;
  const own = new Set<() => void>();
  endings.set(socket, own);
  socket.once('close', () => {
    for (const end of own) end();
  });
  return own;
}

/**
 * Most bodies: short, of a known length, and there in one piece. Nine listeners, a signal and three promises a body were 40
 * of the microseconds that an exec takes. A body that comes slowly, or not at all, is ended as any other (`Bodies`).
 */
function readSmall(bodies: Bodies, request: FastifyRequest, payload: IncomingMessage, done: Done): void {
  const ending = endingsOf(request.raw.socket);
  const chunks: Buffer[] = [];
  let isOver = false;
  const end = (error: Error): void => {
    if (isOver) return;
    isOver = true;
    payload.off('data', onData);
    // The rest of the body is read and dropped.
    payload.resume();
    done(error);
  };
  const coming = bodies.begin(request.actor?.accountId ?? '', (failure) => {
    release();
    end(failure);
  });
  const left = (): void => {
    release();
    if (!isOver) end(endedEarly());
  };
  ending.add(left);
  request.releaseBody = release;
  function release(): void {
    ending.delete(left);
    bodies.leave(coming);
  }
  function onData(chunk: Buffer): void {
    chunks.push(chunk);
    try {
      bodies.cameSmall(coming, chunk.length);
    } catch (error) {
      end(error as Error);
    }
  }
  askForBody(request.raw);
  payload.on('data', onData);
  payload.once('end', () => {
    if (isOver) return;
    isOver = true;
    bodies.arrived(coming);
    try {
      done(null, parseSmall(request, chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)));
    } catch (error) {
      done(asRefusal(error));
    }
  });
}

function parseSmall(request: FastifyRequest, bytes: Buffer): unknown {
  if (request.headers['idempotency-key'] !== undefined) request.bodyHash = createHash('sha256').update(bytes).digest();
  if (bytes.length === 0) return undefined;
  if (request.routeOptions.config.keepsBody) request.bodyBytes = bytes;
  return parseAtOnce(bytes);
}

async function readLong(
  bodies: Bodies,
  request: FastifyRequest,
  payload: IncomingMessage,
  declared: number,
): Promise<unknown> {
  const limit = request.actor ? bodyLimit : openBodyLimit;
  if (declared > limit) throw tooLarge(limit);
  const owner = request.actor?.accountId ?? '';
  const ending = new AbortController();
  const coming = bodies.begin(owner, (failure) => {
    release();
    ending.abort(failure);
  });
  const { socket } = request.raw;
  const left = (): void => {
    release();
    ending.abort(endedEarly());
  };
  socket.once('close', left);
  request.releaseBody = release;
  function release(): void {
    socket.off('close', left);
    bodies.leave(coming);
  }
  if (declared > smallBytes) await bodies.enter(coming, declared, ending.signal);
  const hash = request.headers['idempotency-key'] === undefined ? undefined : createHash('sha256');
  const scanner = new JsonScanner();
  askForBody(request.raw);
  bodies.watch(payload);
  // A large body has its room, so it comes into one piece.
  const whole = declared > smallBytes ? Buffer.allocUnsafeSlow(declared) : undefined;
  const bytes = await collect(payload, ending.signal, whole, (chunk, length) => {
    if (length > limit) throw tooLarge(limit);
    hash?.update(chunk);
    scanner.push(chunk);
    return bodies.came(coming, chunk.length, limit, ending.signal);
  });
  bodies.arrived(coming);
  if (hash) request.bodyHash = hash.digest();
  if (bytes.length === 0) return undefined;
  if (request.routeOptions.config.keepsBody) request.bodyBytes = bytes;
  // Of sixteen that came at once one is read, checked and begun in a turn of the loop.
  if (bytes.length > smallBytes) await nextSlice();
  return parseBody(scanner, bytes);
}

/** The value of a body that `scanner` has seen. Throws 400. */
export async function parseBody(scanner: JsonScanner, bytes: Buffer): Promise<unknown> {
  try {
    return await scanner.parse(bytes);
  } catch (error) {
    throw asRefusal(error);
  }
}

const asRefusal = (error: unknown): Error =>
  error instanceof SyntaxError ? badRequest('the body is not valid JSON') : (error as Error);

const tooLarge = (limit: number): ApiError =>
  new ApiError(
    'payload_too_large',
    `the request body is over ${limit === bodyLimit ? '12 MiB' : '64 KiB'}; send a smaller one`,
  );

/**
 * All bytes of a body, in `whole` where its length is known; `take` may refuse by throwing, or have the sender wait, and
 * `ending` ends it with its reason.
 */
function collect(
  payload: IncomingMessage,
  ending: AbortSignal,
  whole: Buffer | undefined,
  take: (chunk: Buffer, length: number) => Promise<void> | undefined,
): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  let length = 0;
  const onData = (chunk: Buffer): void => {
    if (whole) chunk.copy(whole, length);
    else chunks.push(chunk);
    length += chunk.length;
    try {
      const room = take(chunk, length);
      if (!room) return;
      payload.pause();
      room.then(() => payload.resume(), end);
    } catch (error) {
      end(error);
    }
  };
  const end = (error: unknown): void => {
    chunks.length = 0;
    payload.off('data', onData);
    // The rest of the body is read and dropped.
    payload.resume();
    reject(error);
  };
  const onEnding = (): void => end(ending.reason);
  ending.addEventListener('abort', onEnding, { once: true });
  if (ending.aborted) onEnding();
  payload.on('data', onData);
  payload.once('end', () => resolve(whole ?? (chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks))));
  // After `end` both come too late to matter, and an error costs its stack trace.
  const endEarly = (): void => {
    if (!payload.readableEnded) reject(endedEarly());
  };
  payload.once('error', endEarly).once('close', endEarly);
  return promise;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** SHA-256 of the body's bytes, of a request with an `Idempotency-Key`. */
    bodyHash?: Buffer;
    /** The body's bytes, on a route that passes them on. */
    bodyBytes?: Buffer;
    /** Lets go what the body holds. */
    releaseBody?: () => void;
  }
}
