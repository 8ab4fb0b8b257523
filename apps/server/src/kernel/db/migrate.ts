import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Db, inTransaction, type Sql } from './db.ts';

interface Migration {
  name: string;
  sql: string;
  checksum: string;
}

const migrationsDir = join(import.meta.dirname, '../../../migrations');
/** Any constant: the number under which gateways that start at once queue up. */
const lockId = 7_822_001;

/**
 * Applies the missing migrations in order and answers their names. Each runs in a transaction of its own under one
 * advisory lock, so any number of gateways may start at once. Throws when an applied file was changed.
 */
export async function migrate(sql: Sql): Promise<string[]> {
  const applied: string[] = [];
  for (const migration of readMigrations()) {
    const ran = await inTransaction(sql, async (tx) => {
      await tx`select pg_advisory_xact_lock(${lockId})`;
      await tx`create schema if not exists kernel`;
      await tx`create table if not exists kernel.migrations (
        name text primary key, checksum text not null, applied_at timestamptz not null default now())`;
      const [known] = await tx<{ checksum: string }[]>`
        select checksum from kernel.migrations where name = ${migration.name}`;
      if (known && known.checksum !== migration.checksum) {
        throw new Error(`migration ${migration.name} was changed after it was applied; add a new one instead`);
      }
      if (known) return false;
      await tx.unsafe(migration.sql);
      await tx`insert into kernel.migrations ${tx({ name: migration.name, checksum: migration.checksum })}`;
      return true;
    });
    if (ran) applied.push(migration.name);
  }
  return applied;
}

/** Names of this build's migrations that the database lacks. Newer ones it may have are fine: they only add. */
export async function missingMigrations(db: Db): Promise<string[]> {
  const [kept] = await db<{ there: boolean }[]>`select to_regclass('kernel.migrations') is not null as there`;
  const rows = kept?.there ? await db<{ name: string }[]>`select name from kernel.migrations` : [];
  const applied = new Set(rows.map((row) => row.name));
  return readMigrations()
    .map((migration) => migration.name)
    .filter((name) => !applied.has(name));
}

function readMigrations(): Migration[] {
  return readdirSync(migrationsDir)
    .filter((file) => file.endsWith('.sql'))
    .sort()
    .map((file) => {
      const sql = readFileSync(join(migrationsDir, file), 'utf8');
      return { name: file.replace(/\.sql$/, ''), sql, checksum: createHash('sha256').update(sql).digest('hex') };
    });
}
