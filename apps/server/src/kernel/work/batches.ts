import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';

/** Items that are written a little later, many at once. */
export interface Batches<T> {
  /** Keeps an item to be written; false when there is no room for it. */
  add: (item: T) => boolean;
  /** Writes what is held now. */
  flush: () => Promise<void>;
  close: () => Promise<void>;
}

const flushEveryMs = 500;

/** SQLSTATE classes of a value that its column refuses: data, constraints, limits of the server. */
const classesOfRow = new Set(['22', '23', '54']);
/** The driver could not write a value down. */
const codesOfDriver = new Set(['UNDEFINED_VALUE', 'ERR_INVALID_ARG_TYPE', 'ERR_OUT_OF_RANGE']);

/**
 * The code of a fault that lies in a row, however often it is written; undefined for one of the database or the way to it,
 * which may be over later.
 */
export function faultOfRow(error: unknown): string | undefined {
  if (error instanceof RangeError) return error.name;
  const { code } = error as { code?: unknown };
  if (typeof code !== 'string') return undefined;
  const isOfRow = codesOfDriver.has(code) || (/^[0-9A-Z]{5}$/.test(code) && classesOfRow.has(code.slice(0, 2)));
  return isOfRow ? code : undefined;
}

interface Parts<T> {
  write: (items: T[]) => Promise<void>;
  /** So many of the first items need not be written again. */
  done: (count: number) => void;
  /** An item was refused, by a fault of this code. */
  dropped: (code: string) => void;
}

/** Writes items, in halves where one of them is refused. Throws when the database is away. */
async function writeSplit<T>(parts: Parts<T>, items: T[]): Promise<void> {
  try {
    await parts.write(items);
    parts.done(items.length);
  } catch (error) {
    const fault = faultOfRow(error);
    if (fault === undefined) throw error;
    if (items.length > 1) {
      const half = items.length >> 1;
      await writeSplit(parts, items.slice(0, half));
      return writeSplit(parts, items.slice(half));
    }
    parts.done(1);
    parts.dropped(fault);
  }
}

/**
 * Writes items in batches off the request path. They are in memory for half a second while the database is there, and
 * until it is back when it is not: `most` of them, the oldest. What a killed process holds is lost. An item that its table
 * refuses is dropped, logged by its fault alone and counted: it holds up none of the others.
 */
export function createBatches<T>(
  { clock, log, metrics }: { clock: Clock; log: Log; metrics?: Pick<Metrics, 'counter'> | undefined },
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

  const drop = metrics?.counter('svc_batch_items_dropped_total', 'Items that their table refused', ['batch']);

  const parts: Parts<T> = {
    write,
    done: (count) => void (held = held.slice(count)),
    dropped(code) {
      drop?.({ batch: name });
      log.error({ code }, `one of the ${name} is dropped: the database refuses it`);
    },
  };

  async function writeAll(): Promise<void> {
    while (held.length > 0) {
      const items = held.slice(0, atOnce);
      try {
        await writeSplit(parts, items);
      } catch (err) {
        log.warn({ err, held: held.length, lost }, `${name} wait for the database`);
        return;
      }
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
