import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import type { Db, Sql } from './db.ts';

/** A metric counts so many rows at most: what it reads is bounded, however much waits. */
export const mostCounted = 10_000;

/**
 * A gauge of rows, by a label, that each scrape of a process that works asks the database for. `read` uses an index of the rows
 * that it counts, and counts `mostCounted` at most. While the database is away there are no values.
 */
export function gaugeOfRows(
  { metrics, background, log }: { metrics: Metrics; background: Sql; log: Log },
  { name, help, label }: { name: string; help: string; label: string },
  read: (db: Db) => Promise<Readonly<Record<string, number>>>,
): void {
  metrics.gauges(name, help, label, () =>
    read(background).catch((err: unknown) => {
      log.debug({ err, name }, 'rows of a metric were not counted');
      return {};
    }),
  );
}
