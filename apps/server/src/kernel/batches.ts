import type { Clock } from './clock.ts';
import type { Log } from './log.ts';

/** Items that are written a little later, many at once. */
export interface Batches<T> {
  /** Keeps an item to be written; false when there is no room for it. */
  add: (item: T) => boolean;
  /** Writes what is held now. */
  flush: () => Promise<void>;
  close: () => Promise<void>;
}

const flushEveryMs = 500;

/**
 * Writes items in batches off the request path. They are in memory for half a second while the database is there, and
 * until it is back when it is not: `most` of them, the oldest. What a killed process holds is lost.
 */
export function createBatches<T>(
  { clock, log }: { clock: Clock; log: Log },
  kind: {
    /** In a log line: what waits. */
    name: string;
    most: number;
    /** Items of one statement. */
    atOnce: number;
    write: (items: T[]) => Promise<void>;
  },
): Batches<T> {
  const { name, most, atOnce, write } = kind;
  let held: T[] = [];
  let lost = 0;
  let writing: Promise<void> = Promise.resolve();

  async function writeAll(): Promise<void> {
    while (held.length > 0) {
      const items = held.slice(0, atOnce);
      try {
        await write(items);
      } catch (err) {
        log.warn({ err, held: held.length, lost }, `${name} wait for the database`);
        return;
      }
      held = held.slice(items.length);
    }
  }
  const flush = (): Promise<void> => {
    writing = writing.then(writeAll);
    return writing;
  };
  const stop = clock.every(flushEveryMs, () => {
    if (held.length > 0) void flush();
  });
  return {
    add(item) {
      if (held.length < most) {
        held.push(item);
        return true;
      }
      lost += 1;
      return false;
    },
    flush,
    async close() {
      stop();
      await flush();
    },
  };
}
