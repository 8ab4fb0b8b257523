import { randomBytes } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { CommandError } from '../base/command-error.ts';
import { type Db, inTransaction, type Sql } from '../db/db.ts';
import { readFact, writeFact } from '../db/facts.ts';
import type { Blobs } from './blobs.ts';

/** The store has its id in it, and the database knows the id of its store: each part looks whether it has the same one. */
const marker = 'store.id';
const fact = 'blob_store';
/** Any constant: the number under which parts queue up that start at once. */
const lock = 7_822_041;

interface Parts {
  sql: Sql;
  blobs: Blobs;
}

/** Whether the store is that of the database. `unmarked`: by a release before this one, or never started. */
export async function findStore({ sql, blobs }: Parts): Promise<'same' | 'other' | 'missing' | 'unmarked'> {
  const known = (await readFact(sql, fact))?.toString();
  if (known === undefined) return 'unmarked';
  const here = await readMarker(blobs);
  if (here === undefined) return 'missing';
  return here === known ? 'same' : 'other';
}

/**
 * Looks whether the store is that of the database, and marks it at the first start. Throws `CommandError` for another store:
 * what this part stores the others would not find. One without a marker is taken when `isUnused` answers that nothing was
 * ever stored, and that no other part runs.
 */
export async function claimStore(
  { sql, blobs }: Parts,
  { where, isUnused }: { where: string; isUnused: (db: Db) => Promise<boolean> },
): Promise<void> {
  if ((await findStore({ sql, blobs }).catch(unusable(where))) === 'same') return;
  await inTransaction(sql, async (db) => {
    await db`select pg_advisory_xact_lock(${lock})`;
    const known = (await readFact(db, fact))?.toString();
    const here = await readMarker(blobs).catch(unusable(where));
    if (known !== undefined && known === here) return;
    if (known !== undefined && (here !== undefined || !(await isUnused(db)))) throw new CommandError(otherStore(where));
    await mark(db, blobs, here).catch(unusable(where));
  });
}

/** Makes this store that of the database, whatever it was: what only another one has is lost to the platform. */
export async function acceptStore({ sql, blobs }: Parts): Promise<void> {
  await inTransaction(sql, async (db) => {
    await db`select pg_advisory_xact_lock(${lock})`;
    await mark(db, blobs, await readMarker(blobs));
  });
}

/** A store that is there already keeps its id: platforms may share a bucket, and a database may be made anew. */
async function mark(db: Db, blobs: Blobs, here: string | undefined): Promise<void> {
  const id = here ?? randomBytes(16).toString('hex');
  if (here === undefined) await blobs.put(marker, Buffer.from(id));
  await writeFact(db, fact, Buffer.from(id));
}

async function readMarker(blobs: Blobs): Promise<string | undefined> {
  const found = await blobs.get(marker);
  return found && (await buffer(found.body)).toString();
}

/** What to do about a store that is not the database's. */
export const otherStoreFix =
  'give every part the same store, a shared volume or a bucket (SVC_S3_BUCKET; docs/grow.md), or if its files are lost or ' +
  'were copied here: ./svc storage accept';

const otherStore = (where: string): string => `${where}: not the store that this database knows; ${otherStoreFix}`;

const unusable = (where: string) => (error: unknown) => {
  if (error instanceof CommandError) throw error;
  const { name, message } = error as Error;
  throw new CommandError(`${where} cannot be used to store files: ${message || name}`);
};
