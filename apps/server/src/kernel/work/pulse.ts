import type { Clock } from '../base/clock.ts';

interface Watched {
  readonly name: string;
  readonly everyMs: number;
  turnedAt: number;
}

/** A loop that is watched. */
interface Beat {
  /** A run of it ended well. */
  turned(): void;
  /** It is stopped. */
  end(): void;
}

/**
 * When the loops that a worker is there for turned last. Timers go on in a process whose loops stand: each awaits a
 * connection that hangs, or fails at every run.
 */
export class Pulse {
  readonly #clock: Clock;
  readonly #loops = new Set<Watched>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Watches a loop that runs every `everyMs` at least, from now on. */
  watch(name: string, everyMs: number): Beat {
    const loop: Watched = { name, everyMs, turnedAt: this.#clock.monotonic() };
    this.#loops.add(loop);
    return {
      turned: () => {
        loop.turnedAt = this.#clock.monotonic();
      },
      end: () => {
        this.#loops.delete(loop);
      },
    };
  }

  /** Forgets what was before: none of them could turn. */
  restart(): void {
    for (const loop of this.#loops) loop.turnedAt = this.#clock.monotonic();
  }

  /** The loop that stands for longest, and for how long beyond its time; 0 ms when all turn. */
  slowest(): { name: string; ms: number } {
    const now = this.#clock.monotonic();
    let slowest = { name: '', ms: 0 };
    for (const { name, everyMs, turnedAt } of this.#loops) {
      const ms = now - turnedAt - everyMs;
      if (ms > slowest.ms) slowest = { name, ms };
    }
    return slowest;
  }
}
