import type { Client } from '@svc/sdk';
import { Sender } from '../sender.ts';
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
const gatherMs = 500;
const lateMs = 60_000;

/** Sends all that an attempt writes, as it comes. */
export class LogSender {
  readonly #sender: Sender;
  readonly #waiting: Buffer[] = [];
  /** Bytes that were written, and the first of those that wait. */
  #taken = 0;
  #first = 0;

  constructor({ client, run, timing, log, signal }: LogOptions) {
    this.#sender = new Sender({
      what: `the log of run ${run.id}`,
      source: { read: (at) => this.#read(at) },
      post: (offset, body, call) =>
        client.scheduler.appendLog(
          { params: { id: run.id }, query: { attempt: run.attempt, offset }, body },
          { signal: call },
        ),
      timing,
      gatherMs,
      lateMs,
      log,
      signal,
    });
  }

  push(text: string): void {
    if (this.#sender.isCut) {
      this.#waiting.length = 0;
      return;
    }
    for (let at = 0; at < text.length && this.#taken < mostBytes; ) {
      const cut = wholeCharacters(text, at, at + pieceBytes / 4);
      const bytes = Buffer.from(text.slice(at, cut));
      this.#waiting.push(bytes);
      this.#taken += bytes.length;
      at = cut;
    }
    this.#sender.wake();
  }

  /** Nothing more comes; resolves when all is sent, the gateway wants no more of it, or `ms` have passed. */
  end(ms: number): Promise<void> {
    return this.#sender.end(ms);
  }

  /** Takes a piece of what waits; what was taken is forgotten. */
  #read(at: number): Buffer | undefined {
    if (at !== this.#first) return undefined;
    const piece: Buffer[] = [];
    for (let bytes = 0; ; ) {
      const next = this.#waiting[0];
      if (!next || (piece.length > 0 && bytes + next.length > pieceBytes)) break;
      bytes += next.length;
      piece.push(next);
      this.#waiting.shift();
    }
    const taken = Buffer.concat(piece);
    this.#first += taken.length;
    return taken;
  }
}

/** Where to cut a text that ends at `end` at the latest, without cutting a character. */
function wholeCharacters(text: string, from: number, end: number): number {
  if (end >= text.length) return text.length;
  const isHalf = /[\uD800-\uDBFF]/.test(text[end - 1] ?? '');
  return isHalf && end - 1 > from ? end - 1 : end;
}
