import type { ServerResponse } from 'node:http';
import type { Clock } from '../base/clock.ts';
import { ApiError } from '../base/errors.ts';

/** Shorter answers are not counted: sockets hold as much by themselves. */
const leastBytes = 64 * 1024;
/** An account whose clients leave more than this unread starts nothing new. */
const mostUnread = 32 * 1024 * 1024;
/** A client that reads nothing for so long is let go. */
const silentMs = 60_000;
const lookEveryMs = 5_000;

const isOver = ({ destroyed, socket }: ServerResponse): boolean => destroyed || (socket?.destroyed ?? true);

interface Unread {
  bytes: number;
  /** Bytes that its socket had sent, and when that count last grew. */
  sent: number;
  at: number;
}

/** Answers that their clients have not read yet: an answer may be 12 MiB, and waits in memory. */
export class UnreadAnswers {
  readonly #clock: Clock;
  readonly #open = new Map<ServerResponse, Unread>();
  readonly #bytes = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
    clock.every(lookEveryMs, () => this.#endSilent());
  }

  /** Throws 429 when the account's clients have too much to read; before the work that would answer more. */
  check(accountId: string): void {
    if ((this.#bytes.get(accountId) ?? 0) <= mostUnread) return;
    const message = 'clients of this account have not read the answers they asked for; read them first';
    throw new ApiError('rate_limit_exceeded', message, { headers: { 'retry-after': '1' } });
  }

  /** Counts an answer of `bytes` until it is read or its connection is over. */
  watch(accountId: string, response: ServerResponse, bytes: number): void {
    // A client that left before its answer was there has nothing to read, and its `close` came already.
    if (bytes < leastBytes || isOver(response)) return;
    const entry = { bytes, sent: response.socket?.bytesWritten ?? 0, at: this.#clock.monotonic() };
    this.#open.set(response, entry);
    this.#bytes.set(accountId, (this.#bytes.get(accountId) ?? 0) + bytes);
    response.once('close', () => {
      this.#open.delete(response);
      const left = (this.#bytes.get(accountId) ?? 0) - bytes;
      if (left > 0) this.#bytes.set(accountId, left);
      else this.#bytes.delete(accountId);
    });
  }

  #endSilent(): void {
    const now = this.#clock.monotonic();
    for (const [response, entry] of this.#open) {
      const { bytesWritten: sent = 0 } = response.socket ?? {};
      if (sent !== entry.sent) Object.assign(entry, { sent, at: now });
      else if (now - entry.at >= silentMs) response.destroy();
    }
  }
}
