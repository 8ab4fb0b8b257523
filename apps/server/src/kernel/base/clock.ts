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

/** Makes a clock for tests, starting at `start` (milliseconds since the epoch). */
export function testClock(start = Date.now()): TestClock {
  let time = start;
  const timers = new Map<symbol, { at: number; every: number | undefined; run: () => void }>();
  const schedule = (ms: number, every: number | undefined, run: () => void): Cancel => {
    const id = Symbol('timer');
    timers.set(id, { at: time + ms, every, run });
    return () => timers.delete(id);
  };
  return {
    now: () => time,
    monotonic: () => time,
    instant: () => new Date(time).toISOString(),
    after: (ms, run) => schedule(ms, undefined, run),
    every: (ms, run) => schedule(ms, ms, run),
    advance(ms) {
      const end = time + ms;
      for (;;) {
        const due = [...timers].filter(([, timer]) => timer.at <= end).sort((a, b) => a[1].at - b[1].at)[0];
        if (!due) break;
        const [id, timer] = due;
        time = timer.at;
        if (timer.every === undefined) timers.delete(id);
        else timer.at += timer.every;
        timer.run();
      }
      time = end;
    },
    leap(ms) {
      time += ms;
      for (const [id, timer] of [...timers].sort((a, b) => a[1].at - b[1].at)) {
        if (timer.at > time || !timers.has(id)) continue;
        if (timer.every === undefined) timers.delete(id);
        else timer.at = time + timer.every;
        timer.run();
      }
    },
  };
}
