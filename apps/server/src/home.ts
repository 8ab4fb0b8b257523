import { closeSync, openSync, readSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { settleIn } from './backup/settle.ts';
import { type Db, inTransaction, type Sql } from './kernel/db/db.ts';
import { claimFact, readFact, removeFact, writeFact } from './kernel/db/facts.ts';
import { instantOf } from './kernel/db/instant.ts';

/** The data dir in which the embedded database last ran as the one it is. */
const homeFact = 'home';
/** Where the platform is that this one is a copy of; from its first start until a person confirms it. */
const copyFact = 'copy_of';
/** Any constant: the number under which parts queue up that start at once. */
const lock = 7_822_042;

/**
 * Looks whether the data dir is a copy of one that is still there. Its embedded database came along, and knows where it was.
 * A copy is settled as a restore is (what was about to go out is held), and answered with the place of the other one until
 * somebody confirms it; one whose first place is gone was moved.
 */
export async function settleHome(sql: Sql, dataDir: string): Promise<string | undefined> {
  const here = realpathSync(dataDir);
  return inTransaction(sql, async (db) => {
    await db`select pg_advisory_xact_lock(${lock})`;
    const home = (await readFact(db, homeFact))?.toString();
    if (home !== undefined && home !== here && isThere(home, here)) {
      if (await claimFact(db, copyFact, Buffer.from(home))) await settleIn(db, instantOf(Date.now()));
      return home;
    }
    if (home !== here) await writeFact(db, homeFact, Buffer.from(here));
    await removeFact(db, copyFact);
    return undefined;
  });
}

/** The place of the platform that this one is a copy of. */
export const findOriginal = async (db: Db): Promise<string | undefined> => (await readFact(db, copyFact))?.toString();

/** A restore is no copy: whatever its database says, it begins where it is. */
export async function forgetHome(db: Db): Promise<void> {
  for (const fact of [homeFact, copyFact]) await removeFact(db, fact);
}

/** Makes the place where a copy is its own: it is none from its next start on. */
export async function confirmHome(db: Db, dataDir: string): Promise<void> {
  await writeFact(db, homeFact, Buffer.from(realpathSync(dataDir)));
  await removeFact(db, copyFact);
}

/** Whether the cluster of `here` is in the data dir `home` too, by the number that each has from its first hour on. */
function isThere(home: string, here: string): boolean {
  const [one, other] = [home, here].map(identityOf);
  // Gone, or one folder by two names.
  if (!one || (one.dev === other?.dev && one.ino === other.ino)) return false;
  const [first, own] = [systemOf(home), systemOf(here)];
  // One that this user may not read may be the same.
  return first !== undefined && (first === own || first === unread || own === unread);
}

const unread = 'unread';

/** Undefined for a folder that is gone, or that this user cannot look at: a data dir that was moved out of a home is none. */
function identityOf(dir: string): { dev: number; ino: number } | undefined {
  try {
    return statSync(dir);
  } catch {
    return undefined;
  }
}

/** The system identifier of the cluster in a data dir; undefined where there is none. */
function systemOf(dataDir: string): string | undefined {
  const path = join(dataDir, 'postgres', 'global', 'pg_control');
  try {
    const file = openSync(path, 'r');
    try {
      const bytes = Buffer.alloc(8);
      readSync(file, bytes);
      return bytes.toString('hex');
    } finally {
      closeSync(file);
    }
  } catch (error) {
    const isGone = ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
    return isGone ? undefined : unread;
  }
}

/** What a copy is told to be. */
export const copyText = (home: string): string =>
  `this is a copy of the platform in ${home}, which is still there: nothing that is due by the clock is done, nothing is sent`;
/** What to do about it. */
export const copyFix =
  'to go on with this one: end the other one, then ./svc restore confirm, and start this one again';
