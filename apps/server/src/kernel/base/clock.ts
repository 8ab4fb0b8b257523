/** Cancels a timer; calling it twice does nothing. */
export type Cancel = () => void;

/** The only source of wall time and timers, so that tests can turn it. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Milliseconds since some instant; never jumps. For measuring spans. */
  monotonic(): number;
  /** The instant for queries of time; null: the database's own clock, the only one that processes share. */
  instant(): string | null;
  /** Calls `run` once after `ms`. Never keeps the process alive. */
  after(ms: number, run: () => void): Cancel;
  /** Calls `run` every `ms`. Never keeps the process alive. */
  every(ms: number, run: () => void): Cancel;
}

/** The machine's clock; its timers are monotonic, so a jump of the wall clock does not move them. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  instant: () => null,
  after(ms, run) {
    const timer = setTimeout(run, ms).unref();
    return () => clearTimeout(timer);
  },
  every(ms, run) {
    const timer = setInterval(run, ms).unref();
    return () => clearInterval(timer);
  },
};

/** A clock that stands still until `advance` turns it; timers fire in the order of their instants. */
export interface TestClock extends Clock {
  advance(ms: number): void;
  /** The same in one leap: a timer that is due fires once, however often it would have. */
  leap(ms: number): void;
}

/** One that is set; of several at one instant the one that was set first fires first. */
interface Timer {
  at: number;
  readonly order: number;
  readonly every: number | undefined;
  readonly run: () => void;
  isCancelled: boolean;
}

/**
 * Timers, the next one last. Tests turn hours, second by second: to sort all of them at each step was an eighth of what
 * they took, to look through them a twelfth.
 */
class Timers {
  readonly #sorted: Timer[] = [];

  add(timer: Timer): void {
    let [low, high] = [0, this.#sorted.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = this.#sorted[middle] as Timer;
      if (other.at > timer.at || (other.at === timer.at && other.order > timer.order)) low = middle + 1;
      else high = middle;
    }
    this.#sorted.splice(low, 0, timer);
  }

  /** Takes the next one out that is due until `end`. */
  take(end: number): Timer | undefined {
    for (let next = this.#sorted.at(-1); next && next.at <= end; next = this.#sorted.at(-1)) {
      this.#sorted.pop();
      if (!next.isCancelled) return next;
    }
    return undefined;
  }

  /** Takes all out that are due until `end`, in their order. */
  takeAll(end: number): Timer[] {
    const all: Timer[] = [];
    for (let due = this.take(end); due; due = this.take(end)) all.push(due);
    return all;
  }
}

/** Makes a clock for tests, starting at `start` (milliseconds since the epoch). */
export function testClock(start = Date.now()): TestClock {
  let time = start;
  let count = 0;
  const timers = new Timers();
  const schedule = (ms: number, every: number | undefined, run: () => void): Cancel => {
    const timer: Timer = { at: time + ms, order: (count += 1), every, run, isCancelled: false };
    timers.add(timer);
    return () => void (timer.isCancelled = true);
  };
  /** Fires it, and sets it again from an instant where it repeats. */
  const fire = (timer: Timer, from: number): void => {
    if (timer.every !== undefined) {
      timer.at = from + timer.every;
      timers.add(timer);
    }
    timer.run();
  };
  return {
    now: () => time,
    monotonic: () => time,
    instant: () => new Date(time).toISOString(),
    after: (ms, run) => schedule(ms, undefined, run),
    every: (ms, run) => schedule(ms, ms, run),
    advance(ms) {
      const end = time + ms;
      for (let due = timers.take(end); due; due = timers.take(end)) {
        time = due.at;
        fire(due, time);
      }
      time = end;
    },
    leap(ms) {
      time += ms;
      for (const due of timers.takeAll(time)) if (!due.isCancelled) fire(due, time);
    },
  };
}
