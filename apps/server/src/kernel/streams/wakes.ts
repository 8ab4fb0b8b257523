import type { Clock } from '../base/clock.ts';
import { Followers } from './followers.ts';

/** Those who wait for something to happen, by its key. A wake is a hint: who misses one looks again after a while. */
export class Wakes {
  readonly #clock: Pick<Clock, 'after'>;
  readonly #waiting = new Followers<() => void>();

  constructor(clock: Pick<Clock, 'after'>) {
    this.#clock = clock;
  }

  /** Resolves at the next wake of the key, after `ms`, or when the signal is aborted. */
  async next(key: string, ms: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const leave = this.#waiting.add(key, resolve);
    const cancel = this.#clock.after(ms, resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
    if (signal.aborted) resolve();
    await promise;
    cancel();
    leave();
  }

  wake(key: string): void {
    for (const resolve of this.#waiting.of(key)) resolve();
  }

  /** Wakes everybody; for a shutdown. */
  wakeAll(): void {
    for (const key of this.#waiting.keys()) this.wake(key);
  }
}
