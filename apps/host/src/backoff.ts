/** Waiting times between attempts: full jitter under a cap that doubles. */
interface Backoff {
  /** Milliseconds to wait before the next attempt. */
  next(): number;
  /** Starts over after a success. */
  reset(): void;
}

/** Makes waiting times between `minMs` and a cap of twice that, which doubles with each attempt up to `maxMs`. */
export function createBackoff(minMs: number, maxMs: number, random: () => number = Math.random): Backoff {
  let attempt = 0;
  return {
    next() {
      attempt += 1;
      const cap = Math.min(maxMs, minMs * 2 ** Math.min(attempt, 30));
      return minMs + random() * Math.max(0, cap - minMs);
    },
    reset() {
      attempt = 0;
    },
  };
}
