/** A number of places, which are taken and given back; who finds none waits, the first first. */
export class Places {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  /** Resolves with what gives the place back. */
  async take(): Promise<() => void> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free += 1;
    };
  }
}

/** Does `work` with each item, `count` of them at a time; answers the results in the order of the items. */
export async function doAll<T, R>(items: readonly T[], count: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const places = new Places(count);
  return Promise.all(
    items.map(async (item) => {
      const giveBack = await places.take();
      return work(item).finally(giveBack);
    }),
  );
}
