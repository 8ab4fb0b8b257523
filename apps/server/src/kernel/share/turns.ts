import { ApiError } from '../base/errors.ts';

/** Work that is done a few at a time, in the order in which it came. */
export class Turns {
  readonly #mostWaiting: number;
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor({ atOnce, waiting }: { atOnce: number; waiting: number }) {
    this.#free = atOnce;
    this.#mostWaiting = waiting;
  }

  /** Does the work when it is its turn; throws `unavailable` when too much waits already. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else if (this.#waiting.length < this.#mostWaiting) await new Promise<void>((go) => this.#waiting.push(go));
    else throw new ApiError('unavailable', 'too much is under way; try again in a moment');
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free += 1;
    }
  }
}
