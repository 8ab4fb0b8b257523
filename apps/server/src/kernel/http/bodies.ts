import type { IncomingMessage } from 'node:http';
import type { Clock } from '../base/clock.ts';
import { ApiError, badRequest } from '../base/errors.ts';
import type { Spool } from './spool.ts';

/** Bytes that large bodies may not take: a short request is read even while they fill the rest. */
const reservedBytes = 8 * 1024 * 1024;
/** Up to this a body never waits for room. */
export const smallBytes = 64 * 1024;
/** Forms are passed on as they are, and cost less than bodies that are parsed: an account has room of its own for them. */
const mostFormBytesOfOne = 25 * 1024 * 1024;
const formsOf = (owner: string): string => `${owner} forms`;
/** A large body waits for room at most for so long. */
const patienceMs = 10_000;
/** After so long it may end one that is in its way. */
const gentleMs = 1_000;
/** A body that brings nothing for so long is ended. */
const silentMs = 60_000;
const lookEveryMs = 5_000;
/** A body that has come for so long and was slower than this, in bytes a second, is ended: 12 MiB take 3.5 hours. */
const slowAfterMs = 20_000;
const leastSpeed = 1_000;

/** How much bodies may take at once (`SVC_BODIES_MB` and so on). */
interface BodyLimits {
  /** Of all accounts in memory. A body of 12 MiB costs about three times that until its request is answered. */
  readonly bytes: number;
  /** Of one account in memory, forms aside: three others may do the same. */
  readonly bytesOfOne: number;
  /** Of all accounts on disk; one may have a quarter. */
  readonly diskBytes: number;
}

/** A body that is read into memory. */
interface Coming {
  readonly owner: string;
  since: number;
  /** Bytes received. */
  bytes: number;
  /** Bytes counted for it: those received of a small body, all of a large one. */
  held: number;
  /** Ends the reading of it. */
  readonly refuse: (failure: ApiError) => void;
}

/** Large bodies of one account: so much at once, and so much a second after that. Parsing 12 MiB keeps the thread 40 ms. */
const burstBytes = 64 * 1024 * 1024;
const bytesPerMs = (32 * 1024 * 1024) / 1_000;

/** Somebody who waits for room. */
interface Waiting {
  readonly bytes: number;
  readonly enter: () => void;
}

/** The room that bodies take in this process, the bodies that are being read, and those that wait on disk. */
export class Bodies {
  readonly spool: Spool;
  readonly #clock: Clock;
  readonly #limits: BodyLimits;
  readonly #held = new Map<string, number>();
  #all = 0;
  /** With the time of the last bytes. */
  readonly #watched = new Map<IncomingMessage, number>();
  readonly #coming = new Set<Coming>();
  /** By account, in the order in which they came. */
  readonly #waiting = new Map<string, Waiting[]>();
  /** Of large bodies, by account: what counts against its burst, and as of when. */
  readonly #paced = new Map<string, { bytes: number; at: number }>();
  #dealAgain: (() => void) | undefined;

  constructor(clock: Clock, limits: BodyLimits, spool: Spool) {
    this.#clock = clock;
    this.#limits = limits;
    this.spool = spool;
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
    const coming = { owner, since: this.#clock.monotonic(), bytes: 0, held: 0, refuse };
    this.#coming.add(coming);
    return coming;
  }

  /** The body is there; what it holds stays held until `leave`. */
  arrived(coming: Coming): void {
    this.#coming.delete(coming);
    this.release(coming.owner, coming.held - coming.bytes);
    coming.held = coming.bytes;
  }

  /** Lets the body go, as far as it came. */
  leave(coming: Coming): void {
    this.#coming.delete(coming);
    this.release(coming.owner, coming.held);
    coming.held = 0;
  }

  /**
   * Counts bytes that came. A body that turns out to be large waits for room for `most`, which the promise tells of. Throws
   * what `hold` and `enter` throw.
   */
  came(coming: Coming, bytes: number, most: number, signal: AbortSignal): Promise<void> | undefined {
    coming.bytes += bytes;
    if (coming.bytes <= coming.held) return undefined;
    if (coming.bytes > smallBytes) return this.enter(coming, most, signal);
    this.hold(coming.owner, bytes, true);
    coming.held += bytes;
    return undefined;
  }

  /** The same for a body whose length is known to be small: it never waits. */
  cameSmall(coming: Coming, bytes: number): void {
    this.hold(coming.owner, bytes, true);
    coming.bytes += bytes;
    coming.held += bytes;
  }

  /** Waits until a large body of so many bytes may be read. Throws as `wait` does. */
  async enter(coming: Coming, bytes: number, signal: AbortSignal): Promise<void> {
    const more = bytes - coming.held;
    await this.wait(coming.owner, more, signal);
    coming.held += more;
    // It could not send meanwhile.
    coming.since = this.#clock.monotonic();
  }

  /**
   * Waits until there is room for all of `bytes`, and holds them: what was let in never waits for others that were. Of those
   * who wait the account goes first that holds least. After 1 s the biggest and slowest body that is in the way is ended,
   * as `#endBiggest` says; after 10 s this throws 429 or 503. `signal` ends the wait: nobody asks any more.
   */
  async wait(owner: string, bytes: number, signal: AbortSignal): Promise<void> {
    const entered = Promise.withResolvers<void>();
    const waiting: Waiting = { bytes, enter: entered.resolve };
    this.#waiting.set(owner, [...(this.#waiting.get(owner) ?? []), waiting]);
    const refuse = (): void =>
      entered.reject(this.#fitsOwner(owner, bytes) && this.#pauseOf(owner) === 0 ? noRoom() : tooMany());
    const left = (): void => entered.reject(endedEarly());
    const cancels = [
      this.#clock.after(gentleMs, () => this.#makeRoom(owner, bytes)),
      this.#clock.after(patienceMs, refuse),
    ];
    signal.addEventListener('abort', left);
    if (signal.aborted) left();
    this.#deal();
    try {
      await entered.promise;
      if (!signal.aborted) return;
      this.release(owner, bytes);
      throw endedEarly();
    } finally {
      for (const cancel of cancels) cancel();
      signal.removeEventListener('abort', left);
      this.#forget(owner, waiting);
    }
  }

  /** Counts bytes as held for `owner`, without waiting. Throws 429 or 503 when that is too much at once. */
  hold(owner: string, bytes: number, isSmall = false): void {
    this.#hold(owner, bytes, { ofOne: this.#limits.bytesOfOne, isSmall });
  }

  /** The same for a form. */
  holdForm(owner: string, bytes: number): void {
    this.#hold(formsOf(owner), bytes, { ofOne: mostFormBytesOfOne, isSmall: false });
  }

  #hold(owner: string, bytes: number, { ofOne, isSmall }: { ofOne: number; isSmall: boolean }): void {
    const own = (this.#held.get(owner) ?? 0) + bytes;
    if (own > ofOne) throw tooMany();
    const most = isSmall ? this.#limits.bytes : this.#limits.bytes - reservedBytes;
    while (this.#all + bytes > most) if (!this.#endBiggest(owner, own)) throw noRoom();
    this.#take(owner, bytes);
  }

  #take(owner: string, bytes: number): void {
    this.#all += bytes;
    this.#held.set(owner, (this.#held.get(owner) ?? 0) + bytes);
  }

  /** Lets bytes go that were held. */
  release(owner: string, bytes: number): void {
    if (bytes === 0) return;
    this.#all -= bytes;
    const own = (this.#held.get(owner) ?? 0) - bytes;
    if (own > 0) this.#held.set(owner, own);
    else this.#held.delete(owner);
    this.#deal();
  }

  /** The same of a form. */
  releaseForm(owner: string, bytes: number): void {
    this.release(formsOf(owner), bytes);
  }

  /** Of all accounts. */
  heldBytes(): number {
    return this.#all;
  }

  #fitsOwner(owner: string, bytes: number): boolean {
    return (this.#held.get(owner) ?? 0) + bytes <= this.#limits.bytesOfOne;
  }

  /** Milliseconds until the account's next large body may come. */
  #pauseOf(owner: string): number {
    const { bytes, at } = this.#paced.get(owner) ?? { bytes: 0, at: 0 };
    return Math.max(0, at + (bytes - burstBytes) / bytesPerMs - this.#clock.monotonic());
  }

  #pace(owner: string, bytes: number): void {
    const now = this.#clock.monotonic();
    const { bytes: before, at } = this.#paced.get(owner) ?? { bytes: 0, at: now };
    this.#paced.set(owner, { bytes: Math.max(0, before - (now - at) * bytesPerMs) + bytes, at: now });
  }

  #fitsAll(bytes: number): boolean {
    return this.#all + bytes <= this.#limits.bytes - reservedBytes;
  }

  /** Lets in who fits: of the accounts that wait, the one that holds least; of one account, who came first. */
  #deal(): void {
    this.#dealAgain?.();
    let soonest = Number.POSITIVE_INFINITY;
    for (;;) {
      let next: { owner: string; first: Waiting; own: number } | undefined;
      for (const [owner, [first]] of this.#waiting) {
        const own = this.#held.get(owner) ?? 0;
        if (!first || !this.#fitsOwner(owner, first.bytes) || !this.#fitsAll(first.bytes)) continue;
        const pause = this.#pauseOf(owner);
        if (pause > 0) soonest = Math.min(soonest, pause);
        else if (!next || own < next.own) next = { owner, first, own };
      }
      if (!next) break;
      this.#forget(next.owner, next.first);
      this.#take(next.owner, next.first.bytes);
      this.#pace(next.owner, next.first.bytes);
      next.first.enter();
    }
    if (soonest < Number.POSITIVE_INFINITY) this.#dealAgain = this.#clock.after(Math.ceil(soonest), () => this.#deal());
  }

  #forget(owner: string, waiting: Waiting): void {
    const left = (this.#waiting.get(owner) ?? []).filter((one) => one !== waiting);
    if (left.length > 0) this.#waiting.set(owner, left);
    else this.#waiting.delete(owner);
  }

  #makeRoom(owner: string, bytes: number): void {
    if (!this.#fitsOwner(owner, bytes) || this.#pauseOf(owner) > 0) return;
    const own = (this.#held.get(owner) ?? 0) + bytes;
    while (!this.#fitsAll(bytes)) if (!this.#endBiggest(owner, own)) return;
  }

  /** Ends the body that has held most for longest, of an account that holds more than `than`; answers whether there was one. */
  #endBiggest(owner: string, than: number): boolean {
    const now = this.#clock.monotonic();
    const weightOf = ({ held, since }: Coming): number => held * (now - since + 1);
    const others = [...this.#coming].filter(
      (one) => one.owner !== owner && one.held > 0 && (this.#held.get(one.owner) ?? 0) > than,
    );
    const [biggest] = others.toSorted((a, b) => weightOf(b) - weightOf(a));
    biggest?.refuse(noRoom());
    return biggest !== undefined;
  }

  #endSlow(): void {
    const now = this.#clock.monotonic();
    for (const [payload, last] of this.#watched) if (now - last >= silentMs) payload.destroy();
    for (const [owner, { bytes, at }] of this.#paced) if ((now - at) * bytesPerMs >= bytes) this.#paced.delete(owner);
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
const tooMany = (): ApiError =>
  new ApiError('rate_limit_exceeded', 'too many large bodies of this account at once; send one after the other', {
    headers: { 'retry-after': '1' },
  });
const tooSlow = (): ApiError => badRequest(`the body came slower than ${leastSpeed} bytes a second; send it again`);
/** A client that left before all of its body had come. */
export const endedEarly = (): ApiError => badRequest('the request body ended early');
