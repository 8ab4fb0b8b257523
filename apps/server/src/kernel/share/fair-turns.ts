import { ApiError } from '../base/errors.ts';

/** How much is done at once, in all and for one account, and how much of an account may wait. */
export interface FairLimits {
  readonly atOnce: number;
  readonly mostOfOne: number;
  readonly waitingOfOne: number;
  /**
   * Places that are free are lent to accounts past `mostOfOne`, all but one, which is there for the next account. A lent one
   * is taken back when an account waits that has none.
   */
  readonly lends?: boolean;
}

/** Its place was lent, and another account needs it: the work ends, and may be done again. */
export class GivenBack extends Error {
  override name = 'GivenBack';
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
  /** Ends what has a lent place, the oldest first. */
  readonly #lent = new Set<AbortController>();
  #all = 0;

  constructor(limits: FairLimits) {
    this.#limits = limits;
  }

  /**
   * Does the work when it is its turn. Throws `unavailable` when too much of the account waits already, and the signal's
   * reason when that ends the wait. Of a lent place `takenBack` tells, with `GivenBack` as its reason.
   */
  async run<T>(
    accountId: string,
    work: (takenBack: AbortSignal | undefined) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    signal?.throwIfAborted();
    if (this.#mayBegin(accountId) || this.#mayBorrow(accountId)) this.#begin(accountId);
    else await this.#wait(accountId, signal);
    const lent = (this.#running.get(accountId) ?? 0) > this.#limits.mostOfOne ? new AbortController() : undefined;
    if (lent) this.#lent.add(lent);
    try {
      return await work(lent?.signal);
    } finally {
      if (lent) this.#lent.delete(lent);
      this.#end(accountId);
    }
  }

  #mayBegin(accountId: string): boolean {
    return this.#all < this.#limits.atOnce && !this.#hasShare(accountId);
  }

  #mayBorrow(accountId: string): boolean {
    const { lends = false, atOnce } = this.#limits;
    return lends && this.#hasShare(accountId) && this.#all < atOnce - 1;
  }

  #hasShare(accountId: string): boolean {
    return (this.#running.get(accountId) ?? 0) >= this.#limits.mostOfOne;
  }

  /** Takes the newest lent place back: least of its work is lost. */
  #takeBack(): void {
    const newest = [...this.#lent].findLast(({ signal }) => !signal.aborted);
    newest?.abort(new GivenBack('another account needs the place'));
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
    if (!this.#hasShare(accountId)) this.#takeBack();
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
    const accounts = [...this.#waiting];
    const chosen =
      accounts.find(([accountId]) => this.#mayBegin(accountId)) ??
      accounts.find(([accountId]) => this.#mayBorrow(accountId));
    if (!chosen) return;
    const [accountId, line] = chosen;
    const waiting = line.shift();
    this.#waiting.delete(accountId);
    if (line.length > 0) this.#waiting.set(accountId, line);
    if (!waiting) return;
    this.#begin(accountId);
    waiting.go();
  }
}
