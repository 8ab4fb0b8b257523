import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { Clock } from '../clock.ts';
import { ApiError, badRequest } from './errors.ts';
import { JsonScanner } from './json.ts';
import { askForBody } from './leftover.ts';

/** 12 MiB (document 1, Limits). */
export const bodyLimit = 12 * 1024 * 1024;
/** Of routes that anybody may call. */
const openBodyLimit = 64 * 1024;
/**
 * Bodies that are held at once: one of 12 MiB costs about three times that until its request is answered, and a gateway
 * stays below 400 MiB. What an account may hold leaves room for two others that do the same.
 */
const mostHeldBytes = 72 * 1024 * 1024;
const mostHeldBytesOfOne = 25 * 1024 * 1024;
/** Of them, those that only small bodies may take: whatever large ones do, a short request is read. */
const reservedBytes = 8 * 1024 * 1024;
const smallBytes = 64 * 1024;
/** A body that brings nothing for so long is ended. */
const silentMs = 60_000;
const lookEveryMs = 5_000;
/** A body that has come for so long and was slower than this, in bytes a second, is ended: 12 MiB take 3.5 hours. */
const slowAfterMs = 20_000;
const leastSpeed = 1_000;

/** A body that is read into memory. */
interface Coming {
  readonly owner: string;
  readonly since: number;
  bytes: number;
  /** Ends the reading of it. */
  readonly refuse: (failure: ApiError) => void;
}

/** What is held of bodies in this process, and the bodies that are on their way. */
export class Bodies {
  readonly #clock: Clock;
  readonly #held = new Map<string, number>();
  #all = 0;
  /** With the time of the last bytes. */
  readonly #watched = new Map<IncomingMessage, number>();
  readonly #coming = new Set<Coming>();

  constructor(clock: Clock) {
    this.#clock = clock;
    clock.every(lookEveryMs, () => this.#endSlow());
  }

  /** Ends the connection of a body that brings nothing for 60 s. */
  watch(payload: IncomingMessage): void {
    const note = (): void => void this.#watched.set(payload, this.#clock.monotonic());
    note();
    payload.on('data', note);
    const forget = (): void => void this.#watched.delete(payload);
    payload.once('end', forget).once('close', forget);
  }

  /**
   * A body that is read into memory for `owner`, as long as it comes. It may be ended by `refuse`: when it is slower than
   * 1 kB/s, or when others need the room and its owner holds most.
   */
  begin(owner: string, refuse: (failure: ApiError) => void): Coming {
    const coming = { owner, since: this.#clock.monotonic(), bytes: 0, refuse };
    this.#coming.add(coming);
    return coming;
  }

  /** The body is there; what it holds stays held. */
  arrived(coming: Coming): void {
    this.#coming.delete(coming);
  }

  /** Counts bytes as held for `owner`. Throws 429 or 503 when that is too much at once. */
  hold(owner: string, bytes: number, coming?: Coming): void {
    const own = (this.#held.get(owner) ?? 0) + bytes;
    if (own > mostHeldBytesOfOne) {
      throw new ApiError(
        'rate_limit_exceeded',
        'too many large bodies of this account at once; send one after the other',
        { headers: { 'retry-after': '1' } },
      );
    }
    const isSmall = coming !== undefined && coming.bytes + bytes <= smallBytes;
    const most = isSmall ? mostHeldBytes : mostHeldBytes - reservedBytes;
    while (this.#all + bytes > most) if (!this.#endBiggest(owner, own)) throw noRoom();
    this.#all += bytes;
    this.#held.set(owner, own);
    if (coming) coming.bytes += bytes;
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

  /** Ends the body that has held most for longest, of an account that holds more than `than`; answers whether there was one. */
  #endBiggest(owner: string, than: number): boolean {
    const now = this.#clock.monotonic();
    const weightOf = ({ bytes, since }: Coming): number => bytes * (now - since + 1);
    const others = [...this.#coming].filter(
      (one) => one.owner !== owner && one.bytes > 0 && (this.#held.get(one.owner) ?? 0) > than,
    );
    const [biggest] = others.toSorted((a, b) => weightOf(b) - weightOf(a));
    biggest?.refuse(noRoom());
    return biggest !== undefined;
  }

  #endSlow(): void {
    const now = this.#clock.monotonic();
    for (const [payload, last] of this.#watched) if (now - last >= silentMs) payload.destroy();
    for (const { since, bytes, refuse } of this.#coming) {
      const ms = now - since;
      if (ms >= slowAfterMs && bytes * 1_000 < leastSpeed * ms) refuse(tooSlow());
    }
  }
}

const noRoom = (): ApiError =>
  new ApiError('unavailable', 'the gateway holds too many large bodies at once; try again', {
    headers: { 'retry-after': '1' },
  });
const tooSlow = (): ApiError => badRequest(`the body came slower than ${leastSpeed} bytes a second; send it again`);

/**
 * Reads a JSON body of at most 12 MiB, 64 KiB without a key; an empty one counts as none, so that `DELETE` with a content
 * type works. What it takes is held until the request is answered. The hash of its bytes is kept for an `Idempotency-Key`.
 */
export async function readJson(bodies: Bodies, request: FastifyRequest, payload: IncomingMessage): Promise<unknown> {
  const declared = Number(request.headers['content-length'] ?? 0);
  const limit = request.actor ? bodyLimit : openBodyLimit;
  if (declared > limit) throw tooLarge(limit);
  const owner = request.actor?.accountId ?? '';
  const ending = Promise.withResolvers<never>();
  // Nobody may wait for it any more.
  ending.promise.catch(() => {});
  const coming = bodies.begin(owner, (failure) => {
    release();
    ending.reject(failure);
  });
  let held = 0;
  request.raw.socket.once('close', release);
  request.releaseBody = release;
  function release(): void {
    request.raw.socket.off('close', release);
    bodies.arrived(coming);
    bodies.release(owner, held);
    held = 0;
  }
  const hash = request.headers['idempotency-key'] === undefined ? undefined : createHash('sha256');
  const scanner = new JsonScanner();
  askForBody(request.raw);
  bodies.watch(payload);
  const bytes = await collect(payload, ending.promise, (chunk, length) => {
    if (length > limit) throw tooLarge(limit);
    bodies.hold(owner, chunk.length, coming);
    held += chunk.length;
    hash?.update(chunk);
    scanner.push(chunk);
  });
  bodies.arrived(coming);
  if (hash) request.bodyHash = hash.digest();
  if (bytes.length === 0) return undefined;
  if (request.routeOptions.config.keepsBody) request.bodyBytes = bytes;
  try {
    return await scanner.parse(bytes);
  } catch (error) {
    throw error instanceof SyntaxError ? badRequest('the body is not valid JSON') : error;
  }
}

const tooLarge = (limit: number): ApiError =>
  new ApiError(
    'payload_too_large',
    `the request body is over ${limit === bodyLimit ? '12 MiB' : '64 KiB'}; send a smaller one`,
  );

/** All bytes of a body; `take` may refuse by throwing, and `ending` by rejecting. */
function collect(
  payload: IncomingMessage,
  ending: Promise<never>,
  take: (chunk: Buffer, length: number) => void,
): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  let length = 0;
  const onData = (chunk: Buffer): void => {
    length += chunk.length;
    try {
      take(chunk, length);
      chunks.push(chunk);
    } catch (error) {
      end(error);
    }
  };
  const end = (error: unknown): void => {
    chunks.length = 0;
    payload.off('data', onData);
    reject(error);
  };
  ending.catch(end);
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
