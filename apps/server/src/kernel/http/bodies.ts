import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { Clock } from '../clock.ts';
import { ApiError, badRequest } from './errors.ts';
import { JsonScanner } from './json.ts';
import { askForBody } from './leftover.ts';

/** 12 MiB (document 1, Limits). */
export const bodyLimit = 12 * 1024 * 1024;
/**
 * Bodies that are held at once: one of 12 MiB costs about three times that until its request is answered, and a gateway
 * stays below 400 MiB. What an account may hold leaves room for two others that do the same.
 */
const mostHeldBytes = 72 * 1024 * 1024;
const mostHeldBytesOfOne = 25 * 1024 * 1024;
/** A body that brings nothing for so long is ended. */
const silentMs = 60_000;
const lookEveryMs = 5_000;

/** What is held of bodies in this process, and the bodies that are on their way. */
export class Bodies {
  readonly #clock: Clock;
  readonly #held = new Map<string, number>();
  #all = 0;
  /** With the time of the last bytes. */
  readonly #coming = new Map<IncomingMessage, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
    clock.every(lookEveryMs, () => this.#endSilent());
  }

  /** Ends the connection of a body that brings nothing for 60 s. */
  watch(payload: IncomingMessage): void {
    const note = (): void => void this.#coming.set(payload, this.#clock.monotonic());
    note();
    payload.on('data', note);
    const forget = (): void => void this.#coming.delete(payload);
    payload.once('end', forget).once('close', forget);
  }

  /** Counts bytes of a body as held for `owner`. Throws 429 or 503 when that is too much at once. */
  hold(owner: string, bytes: number): void {
    const own = (this.#held.get(owner) ?? 0) + bytes;
    if (own > mostHeldBytesOfOne) {
      throw new ApiError(
        'rate_limit_exceeded',
        'too many large bodies of this account at once; send one after the other',
        {
          headers: { 'retry-after': '1' },
        },
      );
    }
    if (this.#all + bytes > mostHeldBytes) {
      throw new ApiError('unavailable', 'the gateway holds too many large bodies at once; try again', {
        headers: { 'retry-after': '1' },
      });
    }
    this.#all += bytes;
    this.#held.set(owner, own);
  }

  /** Lets bytes go that were held. */
  release(owner: string, bytes: number): void {
    this.#all -= bytes;
    const own = (this.#held.get(owner) ?? 0) - bytes;
    if (own > 0) this.#held.set(owner, own);
    else this.#held.delete(owner);
  }

  /** Of all accounts. */
  heldBytes(): number {
    return this.#all;
  }

  #endSilent(): void {
    const now = this.#clock.monotonic();
    for (const [payload, last] of this.#coming) if (now - last >= silentMs) payload.destroy();
  }
}

/**
 * Reads a JSON body of at most 12 MiB; an empty one counts as none, so that `DELETE` with a content type works. What it
 * takes is held until the request is answered. The hash of its bytes is kept for an `Idempotency-Key`.
 */
export async function readJson(bodies: Bodies, request: FastifyRequest, payload: IncomingMessage): Promise<unknown> {
  const declared = Number(request.headers['content-length'] ?? 0);
  if (declared > bodyLimit) throw tooLarge();
  const owner = request.actor?.accountId ?? '';
  let held = 0;
  request.raw.socket.once('close', release);
  request.releaseBody = release;
  function release(): void {
    request.raw.socket.off('close', release);
    bodies.release(owner, held);
    held = 0;
  }
  const hash = request.headers['idempotency-key'] === undefined ? undefined : createHash('sha256');
  const scanner = new JsonScanner();
  askForBody(request.raw);
  bodies.watch(payload);
  const bytes = await collect(payload, (chunk, length) => {
    if (length > bodyLimit) throw tooLarge();
    bodies.hold(owner, chunk.length);
    held += chunk.length;
    hash?.update(chunk);
    scanner.push(chunk);
  });
  if (hash) request.bodyHash = hash.digest();
  if (bytes.length === 0) return undefined;
  if (request.routeOptions.config.keepsBody) request.bodyBytes = bytes;
  try {
    return await scanner.parse(bytes);
  } catch (error) {
    throw error instanceof SyntaxError ? badRequest('the body is not valid JSON') : error;
  }
}

const tooLarge = (): ApiError =>
  new ApiError('payload_too_large', 'the request body is over 12 MiB; send a smaller one');

/** All bytes of a body; `take` may refuse by throwing. */
function collect(payload: IncomingMessage, take: (chunk: Buffer, length: number) => void): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  let length = 0;
  const onData = (chunk: Buffer): void => {
    length += chunk.length;
    try {
      take(chunk, length);
      chunks.push(chunk);
    } catch (error) {
      chunks.length = 0;
      payload.off('data', onData);
      reject(error);
    }
  };
  payload.on('data', onData);
  payload.once('end', () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)));
  // After `end` both come too late to matter.
  const endEarly = (): void => reject(badRequest('the request body ended early'));
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
