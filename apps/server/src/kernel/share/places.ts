/** Gives a place back; a second time does nothing. */
export type GiveBack = () => void;

/**
 * Places that all accounts share, such as runs at a time in this process. An account has `mostOfOne` of them at most, so
 * that one that has much to do leaves room for the others. Whoever waits for something else gives its place back.
 */
export class Places {
  readonly #total: number;
  readonly #mostOfOne: number;
  readonly #taken = new Map<string, number>();
  #all = 0;

  constructor({ total, mostOfOne }: { total: number; mostOfOne: number }) {
    this.#total = total;
    this.#mostOfOne = mostOfOne;
  }

  /** Takes a place for the account; undefined when there is none for it now. */
  take(accountId: string): GiveBack | undefined {
    const own = this.#taken.get(accountId) ?? 0;
    if (this.#all >= this.#total || own >= this.#mostOfOne) return undefined;
    this.#all += 1;
    this.#taken.set(accountId, own + 1);
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      this.#all -= 1;
      const left = (this.#taken.get(accountId) ?? 1) - 1;
      if (left === 0) this.#taken.delete(accountId);
      else this.#taken.set(accountId, left);
    };
  }

  /** What may be dealt now: so many in all, so many to each account, less what these have already. */
  open(): Deal {
    return { total: this.#total - this.#all, mostOfOne: this.#mostOfOne, taken: this.#taken };
  }
}

/** Places that are open. */
export interface Deal {
  readonly total: number;
  readonly mostOfOne: number;
  readonly taken: ReadonlyMap<string, number>;
}
