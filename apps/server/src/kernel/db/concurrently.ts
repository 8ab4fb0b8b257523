import { setTimeout as delay } from 'node:timers/promises';
import { isApplied, noteApplied } from './applied.ts';
import type { Db, Sql } from './db.ts';
import type { Migration } from './migration.ts';
import { splitStatements } from './statements.ts';
import { endsConnection, told } from './waiting.ts';

/** Beside `migrationLock`: held by a session, and asked for in passing, as what waits for it would be waited for itself. */
const concurrentLock = 7_822_002;
const lookAgainMs = 250;
const created = /^create\s+(?:unique\s+)?index\s+concurrently\s+(?:if\s+not\s+exists\s+)?(\w+)\s+on\s+(\w+)\.\w+/i;
const dropped = /^drop\s+index\s+concurrently\s+(?:if\s+exists\s+)?(\w+)\.(\w+)$/i;

/** The index of a statement that makes or drops one `concurrently`; undefined for another statement. */
export function concurrentIndex(statement: string): { schema: string; name: string; isMade: boolean } | undefined {
  const made = created.exec(statement);
  if (made) return { schema: made[2] ?? '', name: made[1] ?? '', isMade: true };
  const gone = dropped.exec(statement);
  return gone ? { schema: gone[1] ?? '', name: gone[2] ?? '', isMade: false } : undefined;
}

/**
 * Applies a migration that is marked `concurrently`; answers false when it was applied already. Requests read and write
 * meanwhile. It goes on where one that was killed ended: an index that is whole stays, and one that is not is made anew.
 */
export async function migrateConcurrently(
  sql: Sql,
  migration: Migration,
  say: (what: string) => void,
): Promise<boolean> {
  const { name } = migration;
  const own = await sql.reserve();
  let isConnected = true;
  try {
    for (let looks = 0; !(await isLocked(own)); looks += 1) {
      if (looks === 1) say(`migration ${name} waits for another process that applies one`);
      await delay(lookAgainMs);
    }
    if (await isApplied(own, migration)) return false;
    for (const statement of splitStatements(migration.sql)) {
      await told({ sql, on: own, name, say }, () => runStatement(own, statement, name));
    }
    await noteApplied(own, migration);
    return true;
  } catch (error) {
    isConnected = !endsConnection(error);
    throw error;
  } finally {
    // A connection that broke has let go by itself, and postgres.js would ask the next query of it.
    if (isConnected) {
      await own`select pg_advisory_unlock(${concurrentLock})`;
      own.release();
    }
  }
}

async function isLocked(db: Db): Promise<boolean> {
  const [row] = await db<{ mine: boolean }[]>`select pg_try_advisory_lock(${concurrentLock}) as mine`;
  return row?.mine === true;
}

async function runStatement(db: Db, statement: string, name: string): Promise<void> {
  const index = concurrentIndex(statement);
  if (!index) throw new Error(`migration ${name}: this makes or drops no index concurrently: ${statement}`);
  const state = await stateOf(db, index);
  if (index.isMade ? state === 'whole' : state === 'absent') return;
  if (index.isMade && state === 'broken') await db.unsafe(`drop index concurrently ${index.schema}.${index.name}`);
  await db.unsafe(statement);
}

async function stateOf(
  db: Db,
  { schema, name }: { schema: string; name: string },
): Promise<'absent' | 'whole' | 'broken'> {
  const [row] = await db<{ whole: boolean }[]>`
    select i.indisvalid and i.indisready as whole from pg_index i join pg_class c on c.oid = i.indexrelid
    where c.relname = ${name} and c.relnamespace::regnamespace::text = ${schema}`;
  return row === undefined ? 'absent' : row.whole ? 'whole' : 'broken';
}
