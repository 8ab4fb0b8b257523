import { ApiError } from './http/errors.ts';

/** How much is done at once, in all and for one account, and how much of an account may wait. */
export interface FairLimits {
  readonly atOnce: number;
  readonly mostOfOne: number;
  readonly waitingOfOne: number;
}

/** Work of an account that waits; `go` is told whether it may begin. */
interface Waiting {
  readonly go: () => void;
}

/**
 * Work that is done a few at a time for all accounts together. Those that wait take turns account by account, so that one
 * with a hundred pieces of work holds up another one's first by no more than what is under way.
 */
export class FairTurns {
  readonly #limits: FairLimits;
  /** Accounts that wait, the next one first. */
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #running = new Map<string, number>();
  #all = 0;

  constructor(limits: FairLimits) {
    this.#limits = limits;
  }

  /**
   * Does the work when it is its turn. Throws `unavailable` when too much of the account waits already, and the signal's
   * reason when that ends the wait.
   */
  async run<T>(accountId: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    if (this.#mayBegin(accountId)) this.#begin(accountId);
    else await this.#wait(accountId, signal);
    try {
      return await work();
    } finally {
      this.#end(accountId);
    }
  }

  #mayBegin(accountId: string): boolean {
    return this.#all < this.#limits.atOnce && (this.#running.get(accountId) ?? 0) < this.#limits.mostOfOne;
  }

  #begin(accountId: string): void {
    this.#all += 1;
    this.#running.set(accountId, (this.#running.get(accountId) ?? 0) + 1);
  }

  #end(accountId: string): void {
    this.#all -= 1;
    const left = (this.#running.get(accountId) ?? 1) - 1;
    if (left === 0) this.#running.delete(accountId);
    else this.#running.set(accountId, left);
    this.#next();
  }

  async #wait(accountId: string, signal: AbortSignal | undefined): Promise<void> {
    const line = this.#waiting.get(accountId) ?? [];
    if (line.length >= this.#limits.waitingOfOne)
      throw new ApiError('unavailable', 'too much of this account is under way; try again in a moment', {
        headers: { 'retry-after': '1' },
      });
    this.#waiting.set(accountId, line);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting: Waiting = { go: resolve };
    line.push(waiting);
    const leave = (): void => {
      const at = line.indexOf(waiting);
      // Not in the line any more: its turn has come, and the work itself looks at the signal.
      if (at === -1) return;
      line.splice(at, 1);
      if (line.length === 0 && this.#waiting.get(accountId) === line) this.#waiting.delete(accountId);
      reject(signal?.reason as Error);
    };
    signal?.addEventListener('abort', leave, { once: true });
    try {
      await promise;
    } finally {
      signal?.removeEventListener('abort', leave);
    }
  }

  /** Lets the first account that may begin take its turn, and puts it behind the others. */
  #next(): void {
    for (const [accountId, line] of this.#waiting) {
      if (!this.#mayBegin(accountId)) continue;
      const waiting = line.shift();
      this.#waiting.delete(accountId);
      if (line.length > 0) this.#waiting.set(accountId, line);
      if (!waiting) continue;
      this.#begin(accountId);
      waiting.go();
      return;
    }
  }
}
