import { setTimeout as delay } from 'node:timers/promises';
import {
  type Build,
  isApplied,
  lockTimeoutMs,
  migrationLock,
  missingOf,
  noteApplied,
  prepareTable,
} from './applied.ts';
import { migrateConcurrently } from './concurrently.ts';
import { inTransaction, type Sql } from './db.ts';
import type { Migration } from './migration.ts';
import { codeOf, told } from './waiting.ts';

const againAfterMs = { least: 250, most: 10_000 };

/**
 * Applies the missing migrations in order and answers their names, while older releases may run on the database. Each runs
 * in a transaction of its own under one advisory lock, so any number of gateways may start at once; those that are marked
 * `concurrently` run outside of one. Killed at any point, it is finished by the next start. None stands in front of requests:
 * what gets no lock in time gives way, and tries again until it can; `say` gets a sentence for whom it waits. The pool needs a
 * second connection to know that.
 *
 * Throws when an applied file was changed, and when the database has migrations that this build does not know, unless they
 * say that its release runs on: the release before starts on the schema of the next one.
 */
export async function migrate(
  sql: Sql,
  { say = () => {}, ...build }: Build & { say?: (what: string) => void } = {},
): Promise<string[]> {
  const missing = await missingOf(sql, build);
  if (missing.length > 0) await untilLocked('the list of migrations', () => inTransaction(sql, prepareTable), say);
  const applied: string[] = [];
  for (const migration of missing) {
    const apply = migration.concurrently ? migrateConcurrently : migrateInTransaction;
    const { name } = migration;
    if (await untilLocked(`migration ${name}`, () => apply(sql, migration, say), say)) applied.push(name);
  }
  return applied;
}

/** Tries again, later and later, what got no lock in time. */
async function untilLocked<T>(what: string, work: () => Promise<T>, say: (text: string) => void): Promise<T> {
  for (let wait = againAfterMs.least; ; wait = Math.min(wait * 2, againAfterMs.most)) {
    try {
      return await work();
    } catch (error) {
      if (!gaveWay(error)) throw error;
      say(`${what} gave way, and tries again in ${wait} ms`);
    }
    await delay(wait);
  }
}

/** lock_not_available, deadlock_detected */
const gaveWay = (error: unknown): boolean => ['55P03', '40P01'].includes(codeOf(error) ?? '');

async function migrateInTransaction(sql: Sql, migration: Migration, say: (what: string) => void): Promise<boolean> {
  return inTransaction(sql, async (tx) => {
    await tx`select pg_advisory_xact_lock(${migrationLock})`;
    if (await isApplied(tx, migration)) return false;
    await tx.unsafe(`set local lock_timeout = ${lockTimeoutMs}`);
    await told({ sql, on: tx, name: migration.name, say }, () => tx.unsafe(migration.sql));
    await noteApplied(tx, migration);
    return true;
  });
}
