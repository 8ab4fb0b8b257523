import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, SvcError } from '@svc/sdk';
import { createBackoff } from '../backoff.ts';
import { describeFailure } from '../report.ts';
import type { RunTiming } from './lease.ts';

/** Options of a log sender. */
interface LogOptions {
  client: Client;
  run: { id: string; attempt: number };
  timing: Pick<RunTiming, 'retryMs' | 'callMs'>;
  log: (text: string) => void;
  /** Ends every attempt to send. */
  signal: AbortSignal;
}

/** The gateway keeps so much of a run: no more waits here. */
const mostBytes = 10 * 2 ** 20;
/** Of one call; the route takes 1 MiB. */
const pieceBytes = 512 * 1024;
/** Output within this time goes in one call. */
const gatherMs = 500;
/** After its end: a gateway that is away for longer gets no more of it. */
const lateMs = 60_000;

/** Sends all that an attempt writes, as it comes. */
export class LogSender {
  readonly #options: LogOptions;
  readonly #over = new AbortController();
  readonly #stop: AbortSignal;
  readonly #ending = Promise.withResolvers<void>();
  readonly #done: Promise<void>;
  readonly #waiting: Buffer[] = [];
  #taken = 0;
  #sent = 0;
  #isEnded = false;
  #more = Promise.withResolvers<void>();

  constructor(options: LogOptions) {
    this.#options = options;
    this.#stop = AbortSignal.any([options.signal, this.#over.signal]);
    this.#stop.addEventListener('abort', () => this.#wake(), { once: true });
    this.#done = this.#work().catch((error: unknown) =>
      options.log(`the log of run ${options.run.id} broke: ${String(error)}`),
    );
  }

  push(text: string): void {
    for (let at = 0; at < text.length && this.#taken < mostBytes; ) {
      const cut = wholeCharacters(text, at, at + pieceBytes / 4);
      const bytes = Buffer.from(text.slice(at, cut));
      this.#waiting.push(bytes);
      this.#taken += bytes.length;
      at = cut;
    }
    this.#wake();
  }

  /** Nothing more comes; resolves when all is sent, the gateway wants no more of it, or `ms` have passed. */
  async end(ms: number): Promise<void> {
    this.#isEnded = true;
    this.#ending.resolve();
    this.#wake();
    setTimeout(() => this.#over.abort(), lateMs).unref();
    const enough = new AbortController();
    const passed = sleep(ms, undefined, { ref: false, signal: enough.signal }).catch(() => {});
    await Promise.race([this.#done, passed]);
    enough.abort();
  }

  #wake(): void {
    this.#more.resolve();
    this.#more = Promise.withResolvers<void>();
  }

  async #work(): Promise<void> {
    for (;;) {
      const more = this.#more.promise;
      if (this.#waiting.length === 0) {
        if (this.#isEnded || this.#stop.aborted) return;
        await more;
        continue;
      }
      if (!this.#isEnded) await Promise.race([sleep(gatherMs, undefined, { ref: false }), this.#ending.promise]);
      if (!(await this.#post(this.#takePiece()))) break;
    }
    this.#taken = mostBytes;
    this.#waiting.length = 0;
  }

  #takePiece(): Buffer {
    const piece: Buffer[] = [];
    for (let bytes = 0; ; ) {
      const next = this.#waiting[0];
      if (!next || (piece.length > 0 && bytes + next.length > pieceBytes)) return Buffer.concat(piece);
      bytes += next.length;
      piece.push(next);
      this.#waiting.shift();
    }
  }

  /** Posts bytes until they are taken; false when no more are wanted. */
  async #post(body: Buffer): Promise<boolean> {
    const { client, run, timing, log } = this.#options;
    const backoff = createBackoff(...timing.retryMs);
    while (!this.#stop.aborted) {
      try {
        const call = { signal: AbortSignal.any([this.#stop, AbortSignal.timeout(timing.callMs)]) };
        const query = { attempt: run.attempt, offset: this.#sent };
        const { bytes, full } = await client.scheduler.appendLog({ params: { id: run.id }, query, body }, call);
        this.#sent += body.length;
        return !full && bytes >= this.#sent;
      } catch (failure) {
        if (isRefused(failure)) {
          // 404 is a gateway of the version before, 409 says that the run is another's now.
          const isUsual = failure.status === 404 || failure.status === 409;
          if (!isUsual) log(`the log of run ${run.id} is kept no further: ${describeFailure(failure)}`);
          return false;
        }
        await sleep(backoff.next(), undefined, { signal: this.#stop }).catch(() => {});
      }
    }
    return false;
  }
}

/** Where to cut a text that ends at `end` at the latest, without cutting a character. */
function wholeCharacters(text: string, from: number, end: number): number {
  if (end >= text.length) return text.length;
  const isHalf = /[\uD800-\uDBFF]/.test(text[end - 1] ?? '');
  return isHalf && end - 1 > from ? end - 1 : end;
}

/** Asking again would be refused again. A key that is refused for the log is refused for all else, which says so. */
function isRefused(failure: unknown): failure is SvcError {
  if (!(failure instanceof SvcError)) return false;
  const isQuota = failure.code === 'quota_exceeded';
  return isQuota || (failure.status >= 400 && failure.status < 500 && failure.status !== 429 && failure.status !== 408);
}
