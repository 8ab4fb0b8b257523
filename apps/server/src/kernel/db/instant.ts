import { type Db, nowOf, type Time } from './db.ts';

/** One moment, in the two forms that are needed: to compare, and to store. */
export interface Instant {
  /** Milliseconds since the Unix epoch. */
  readonly ms: number;
  /** RFC 3339 in UTC. */
  readonly iso: string;
}

/** Now on the database's clock, the only one that processes share, or on the one that a test turns. */
export async function readNow(db: Db, clock: Time): Promise<Instant> {
  const [row] = await db<{ now: string }[]>`select ${nowOf(db, clock)} as now`;
  const iso = row?.now as string;
  return { ms: Date.parse(iso), iso };
}

/** The moment of these milliseconds since the Unix epoch. */
export const instantOf = (ms: number): Instant => ({ ms, iso: new Date(ms).toISOString() });

/** A moment `ms` after another; before it when negative. */
export const plus = (at: Instant, ms: number): Instant => instantOf(at.ms + ms);
