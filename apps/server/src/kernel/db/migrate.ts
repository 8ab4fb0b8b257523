import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CommandError } from '../base/errors.ts';
import { type Db, inTransaction, type Sql } from './db.ts';

interface Migration {
  name: string;
  sql: string;
  checksum: string;
}

const migrationsDir = join(import.meta.dirname, '../../../migrations');
/** Any constant: the number under which gateways that start at once queue up. */
export const migrationLock = 7_822_001;

/**
 * Applies the missing migrations in order and answers their names. Each runs in a transaction of its own under one
 * advisory lock, so any number of gateways may start at once. Throws when an applied file was changed, and when the
 * database has migrations that this build does not know: an older version must not start on a newer schema.
 */
export async function migrate(sql: Sql): Promise<string[]> {
  const unknown = await unknownMigrations(sql);
  if (unknown.length > 0) {
    throw new CommandError(
      `a newer version of svc has changed this database (${unknown.at(-1)}); start that version, or restore a copy from before`,
    );
  }
  const applied: string[] = [];
  for (const migration of readMigrations()) {
    const ran = await inTransaction(sql, async (tx) => {
      await tx`select pg_advisory_xact_lock(${migrationLock})`;
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

/**
 * Names of this build's migrations that the database lacks. Newer ones it may have are fine for a gateway that runs:
 * they only add.
 */
export async function missingMigrations(db: Db): Promise<string[]> {
  const applied = new Set(await appliedMigrations(db));
  return migrationNames().filter((name) => !applied.has(name));
}

/** Names of this build's migrations, in order. */
export const migrationNames = (): string[] => readMigrations().map(({ name }) => name);

/** Fails, and says what to do, when the database lacks migrations of this build: a command applies none. */
export async function requireSchema(db: Db): Promise<void> {
  const missing = await missingMigrations(db);
  if (missing.length === 0) return;
  const which = missing.length === 1 ? `migration ${missing[0]}` : `${missing.length} migrations`;
  throw new CommandError(`the database lacks ${which} of this version; start this version's platform once: ./svc up`);
}

/** Names of applied migrations that this build does not know. */
async function unknownMigrations(db: Db): Promise<string[]> {
  const known = new Set(migrationNames());
  return (await appliedMigrations(db)).filter((name) => !known.has(name)).sort();
}

async function appliedMigrations(db: Db): Promise<string[]> {
  const [kept] = await db<{ there: boolean }[]>`select to_regclass('kernel.migrations') is not null as there`;
  const rows = kept?.there ? await db<{ name: string }[]>`select name from kernel.migrations` : [];
  return rows.map(({ name }) => name);
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
