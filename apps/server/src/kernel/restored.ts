import { randomBytes } from 'node:crypto';
import type { Db } from './db/db.ts';
import { writeFact } from './db/facts.ts';
import type { Instant } from './db/instant.ts';
import { epochFact } from './streams/feed.ts';

/**
 * A database that was restored, before anything runs on it. Between the backup and now another platform went on with the same
 * rows: what was about to happen then may have happened.
 */
interface Restoring {
  readonly db: Db;
  readonly now: Instant;
  /** When the backup was made. */
  readonly backedUpAt: Instant;
}

/**
 * A feature's part of a restore: what was under way becomes unknown, so that nothing is done twice, and what waited for a
 * time that is over waits on. Answers how many of each, in words for people.
 */
export type Restored = (restoring: Restoring) => Promise<Record<string, number>>;

/** Set from a restore until a person confirms it (`svc restore confirm`): then what is held goes on. */
export const unconfirmedFact = 'restore_unconfirmed';

/**
 * The kernel's part: gateways, streams and leases of jobs are gone, requests that were under way may be sent again, and cursors
 * of the feed lead nowhere, since the changes that followed them are lost.
 */
export const kernelRestored: Restored = async ({ db, backedUpAt }) => {
  await db`delete from kernel.gateways`;
  await db`delete from kernel.device_streams`;
  await db`update kernel.jobs set lease_until = null, fence = fence + 1`;
  await db`delete from kernel.idempotency where status is null`;
  await writeFact(db, epochFact, randomBytes(16));
  await writeFact(db, unconfirmedFact, Buffer.from(backedUpAt.iso));
  return {};
};
