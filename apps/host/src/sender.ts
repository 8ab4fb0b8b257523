import { setTimeout as sleep } from 'node:timers/promises';
import { SvcError } from '@svc/sdk';
import { createBackoff } from './backoff.ts';
import { describeFailure } from './report.ts';

/** Bytes that somebody still writes. */
interface Source {
  /** Bytes from `at` on, a piece of them; empty: there are no more for now. Undefined: it has forgotten these. */
  read(at: number): Buffer | undefined | Promise<Buffer>;
}

/** Options of a sender. */
interface SenderOptions {
  /** In the words of a log line. */
  what: string;
  source: Source;
  /** Posts bytes that begin at `offset`; answers where to go on, and whether more are taken. */
  post: (offset: number, body: Buffer, signal: AbortSignal) => Promise<{ bytes: number; full: boolean }>;
  /** Smallest and largest wait after a call that failed, and how long one may take. */
  timing: { readonly retryMs: readonly [number, number]; readonly callMs: number };
  /** What comes within this time goes in one call. */
  gatherMs: number;
  /** After the end: a gateway that is away for longer gets no more of it. If unset: it is waited for. */
  lateMs?: number;
  log: (text: string) => void;
  /** Ends every attempt to send. */
  signal: AbortSignal;
}

/** Sends all that is written, as it comes. */
export class Sender {
  readonly #options: SenderOptions;
  readonly #over = new AbortController();
  readonly #stop: AbortSignal;
  readonly #ending = Promise.withResolvers<void>();
  readonly #done: Promise<void>;
  #at = 0;
  #isEnded = false;
  #isCut = false;
  #more = Promise.withResolvers<void>();

  constructor(options: SenderOptions) {
    this.#options = options;
    this.#stop = AbortSignal.any([options.signal, this.#over.signal]);
    this.#stop.addEventListener('abort', () => this.wake(), { once: true });
    this.#done = this.#work().catch((error: unknown) => options.log(`${options.what} broke: ${String(error)}`));
  }

  /** There may be more. */
  wake(): void {
    this.#more.resolve();
    this.#more = Promise.withResolvers<void>();
  }

  /** No more of it is sent, though there may be more. */
  get isCut(): boolean {
    return this.#isCut;
  }

  /** Nothing more comes; resolves when all is sent, the gateway wants no more of it, or `ms` have passed. */
  async end(ms: number): Promise<void> {
    const { lateMs } = this.#options;
    this.#isEnded = true;
    this.#ending.resolve();
    this.wake();
    if (lateMs !== undefined) setTimeout(() => this.#over.abort(), lateMs).unref();
    if (ms === Number.POSITIVE_INFINITY) return this.#done;
    const enough = new AbortController();
    const passed = sleep(ms, undefined, { ref: false, signal: enough.signal }).catch(() => {});
    await Promise.race([this.#done, passed]);
    enough.abort();
  }

  async #work(): Promise<void> {
    const { source, gatherMs } = this.#options;
    while (!this.#stop.aborted) {
      const more = this.#more.promise;
      const isEnded = this.#isEnded;
      const piece = await source.read(this.#at);
      if (piece === undefined) this.#isCut = true;
      else if (piece.length > 0) await this.#post(piece);
      if (this.#isCut) return;
      if (piece?.length === 0) {
        if (isEnded) return;
        await more;
        if (!this.#isEnded) await Promise.race([sleep(gatherMs, undefined, { ref: false }), this.#ending.promise]);
      }
    }
  }

  /** Posts bytes until they are taken, or refused. */
  async #post(body: Buffer): Promise<void> {
    const { what, post, timing, log } = this.#options;
    const backoff = createBackoff(...timing.retryMs);
    while (!this.#stop.aborted) {
      try {
        const call = AbortSignal.any([this.#stop, AbortSignal.timeout(timing.callMs)]);
        const { bytes, full } = await post(this.#at, body, call);
        this.#at = bytes;
        this.#isCut = full;
        return;
      } catch (failure) {
        if (isRefused(failure)) {
          // 404 is a gateway of the version before, 409 says that it is another's now.
          const isUsual = failure.status === 404 || failure.status === 409;
          if (!isUsual) log(`${what} is kept no further: ${describeFailure(failure)}`);
          this.#isCut = true;
          return;
        }
        await sleep(backoff.next(), undefined, { signal: this.#stop }).catch(() => {});
      }
    }
  }
}

/** Asking again would be refused again. A key that is refused for this is refused for all else, which says so. */
function isRefused(failure: unknown): failure is SvcError {
  if (!(failure instanceof SvcError)) return false;
  const isQuota = failure.code === 'quota_exceeded';
  return isQuota || (failure.status >= 400 && failure.status < 500 && failure.status !== 429 && failure.status !== 408);
}
