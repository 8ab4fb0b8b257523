import { ApiError } from '../base/errors.ts';

/** Gives a place back; a second time does nothing. */
export type GiveBack = () => void;

/** How many places there are, and how many of them one account may have. */
interface ShareLimits {
  readonly total: number;
  readonly ofOne: number;
  /** Of anything else that a place belongs to, by its kind. */
  readonly of?: Readonly<Record<string, number>>;
  /** How much of one account may wait for a place (`run`). */
  readonly waitingOfOne?: number;
  /**
   * `run` lends free places to accounts past `ofOne`, all but one, which is there for the next account. A lent place is
   * taken back when an account waits that has none.
   */
  readonly lends?: boolean;
}

/** How a place is held. */
interface Terms {
  /** By kind, the thing that it belongs to besides the account. */
  readonly of?: Readonly<Record<string, string>>;
  /** Ends what has the place, for the sake of an account that has fewer: without it the place is not taken back. */
  readonly end?: () => void;
}

/** Its place was lent, and another account needs it: the work ends, and may be done again. */
export class GivenBack extends Error {
  override name = 'GivenBack';
}

/** Places that are open, and how many each account has. */
export interface Deal {
  readonly total: number;
  readonly ofOne: number;
  readonly taken: ReadonlyMap<string, number>;
}

interface Place {
  readonly accountId: string;
  /** `<kind>:<id>`. */
  readonly keys: readonly string[];
  readonly end: (() => void) | undefined;
}

/**
 * Places that all accounts share, such as connections, or work at a time: an account that has much to do leaves room for
 * the others. Those that wait take turns account by account, so that one with a hundred pieces of work holds up another
 * one's first by no more than what is under way.
 */
export class Share {
  readonly #limits: ShareLimits;
  readonly #places = new Map<string, Set<Place>>();
  readonly #counts = new Map<string, number>();
  /** Accounts that wait, the next one first. */
  readonly #waiting = new Map<string, (() => void)[]>();
  /** Ends what has a lent place, the oldest first. */
  readonly #lent = new Set<AbortController>();
  #all = 0;

  constructor(limits: ShareLimits) {
    this.#limits = limits;
  }

  /** The places that may be dealt now. */
  open(): Deal {
    const { total, ofOne } = this.#limits;
    return { total: total - this.#all, ofOne, taken: new Map([...this.#places].map(([id, own]) => [id, own.size])) };
  }

  /**
   * Takes a place for the account; undefined when none is free for it now. When all are taken, an account that has fewer than
   * another gets that other's newest place, if it can be ended.
   */
  take(accountId: string, { of = {}, end }: Terms = {}): GiveBack | undefined {
    const keys = Object.entries(of).map(([kind, id]) => `${kind}:${id}`);
    const isFull = Object.entries(of).some(
      ([kind, id]) => (this.#counts.get(`${kind}:${id}`) ?? 0) >= (this.#limits.of?.[kind] ?? 0),
    );
    if (isFull || this.#hasShare(accountId)) return undefined;
    if (this.#all >= this.#limits.total && !this.#takeFromAnother(this.#countOf(accountId) + 1)) return undefined;
    return this.#hold({ accountId, keys, end });
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
    const hold = () => this.#hold({ accountId, keys: [], end: undefined });
    const isFree = this.#mayBegin(accountId) || this.#mayBorrow(accountId);
    const giveBack = isFree ? hold() : await this.#wait(accountId, hold, signal);
    const lent = this.#countOf(accountId) > this.#limits.ofOne ? new AbortController() : undefined;
    if (lent) this.#lent.add(lent);
    try {
      return await work(lent?.signal);
    } finally {
      if (lent) this.#lent.delete(lent);
      giveBack();
    }
  }

  #countOf = (accountId: string): number => this.#places.get(accountId)?.size ?? 0;

  #hasShare = (accountId: string): boolean => this.#countOf(accountId) >= this.#limits.ofOne;

  #mayBegin(accountId: string): boolean {
    return this.#all < this.#limits.total && !this.#hasShare(accountId);
  }

  #mayBorrow(accountId: string): boolean {
    const { lends = false, total } = this.#limits;
    return lends && this.#hasShare(accountId) && this.#all < total - 1;
  }

  #hold(place: Place): GiveBack {
    const { accountId, keys } = place;
    this.#places.set(accountId, (this.#places.get(accountId) ?? new Set()).add(place));
    for (const key of keys) this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    this.#all += 1;
    return () => {
      if (this.#drop(place)) this.#next();
    };
  }

  /** Answers false when it was dropped before. */
  #drop(place: Place): boolean {
    const { accountId, keys } = place;
    const own = this.#places.get(accountId);
    if (!own?.delete(place)) return false;
    if (own.size === 0) this.#places.delete(accountId);
    for (const key of keys) {
      const left = (this.#counts.get(key) ?? 1) - 1;
      if (left === 0) this.#counts.delete(key);
      else this.#counts.set(key, left);
    }
    this.#all -= 1;
    return true;
  }

  /** Ends the newest place of the account that has most, when that is more than `than`. */
  #takeFromAnother(than: number): boolean {
    const most = [...this.#places.values()].reduce<Set<Place>>((a, b) => (b.size > a.size ? b : a), new Set());
    const last = [...most].at(-1);
    if (most.size <= than || last?.end === undefined) return false;
    this.#drop(last);
    last.end();
    return true;
  }

  async #wait(accountId: string, hold: () => GiveBack, signal: AbortSignal | undefined): Promise<GiveBack> {
    const line = this.#waiting.get(accountId) ?? [];
    if (line.length >= (this.#limits.waitingOfOne ?? 0))
      throw new ApiError('unavailable', 'too much of this account is under way; try again in a moment', {
        headers: { 'retry-after': '1' },
      });
    this.#waiting.set(accountId, line);
    const { promise, resolve, reject } = Promise.withResolvers<GiveBack>();
    const go = (): void => resolve(hold());
    line.push(go);
    // The newest lent place: least of its work is lost.
    const newest = this.#hasShare(accountId) ? undefined : [...this.#lent].findLast(({ signal: is }) => !is.aborted);
    newest?.abort(new GivenBack('another account needs the place'));
    const leave = (): void => {
      const at = line.indexOf(go);
      // Not in the line any more: its turn has come, and the work itself looks at the signal.
      if (at === -1) return;
      line.splice(at, 1);
      if (line.length === 0 && this.#waiting.get(accountId) === line) this.#waiting.delete(accountId);
      reject(signal?.reason as Error);
    };
    signal?.addEventListener('abort', leave, { once: true });
    try {
      return await promise;
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
    const go = line.shift();
    this.#waiting.delete(accountId);
    if (line.length > 0) this.#waiting.set(accountId, line);
    go?.();
  }
}
