import { prepareTable } from './applied.ts';
import { type Db, inTransaction, type Sql } from './db.ts';
import type { Migration } from './migration.ts';

/** A migration that was tried. */
export interface Rehearsed {
  name: string;
  sql: string;
  /** It ran and was rolled back, failed with the reason, or was not run. */
  outcome: string;
}

/** What it locks waits meanwhile, so it gives up soon. */
const limits = { lockMs: 500, statementMs: 3_000 };
class RolledBack extends Error {}

/**
 * Runs migrations in one transaction and rolls it back; answers how each went. After one that fails, and for those that need no
 * transaction, it says so. Requests that need what a migration locks wait until the end: for seconds at most.
 */
export async function rehearse(sql: Sql, migrations: readonly Migration[]): Promise<Rehearsed[]> {
  const outcomes: Rehearsed[] = [];
  if (migrations.length === 0) return outcomes;
  try {
    await inTransaction(sql, async (tx) => {
      await prepareTable(tx);
      await tx.unsafe(`set local lock_timeout = ${limits.lockMs}; set local statement_timeout = ${limits.statementMs}`);
      let failed: string | undefined;
      for (const migration of migrations) {
        const { name, sql: text, concurrently } = migration;
        const reason = failed !== undefined ? `not run, as ${failed} failed` : await outcomeOf(tx, text, concurrently);
        outcomes.push({ name, sql: text, outcome: reason ?? 'ran, and was rolled back' });
        if (reason?.startsWith('failed')) failed ??= name;
      }
      throw new RolledBack();
    });
  } catch (error) {
    if (!(error instanceof RolledBack)) throw error;
  }
  return outcomes;
}

/** Undefined when it ran. */
async function outcomeOf(tx: Db, text: string, concurrently: boolean): Promise<string | undefined> {
  if (concurrently) return 'not run, as it needs no transaction and would lock its table within one';
  try {
    await tx.unsafe(text);
    return undefined;
  } catch (error) {
    return `failed: ${(error as Error).message}`;
  }
}
