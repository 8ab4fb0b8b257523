import { CommandError } from '../base/command-error.ts';
import { version } from '../base/version.ts';
import type { Db } from './db.ts';
import { type Migration, readMigrations, runsOn } from './migration.ts';

/** Any constant: the number under which gateways that start at once queue up. */
export const migrationLock = 7_822_001;
/** A statement of a migration waits this long for a lock: what is asked meanwhile waits behind it. Then it gives way. */
export const lockTimeoutMs = 500;

/** The migrations of a build, and the release that it is; the present build's by default. */
export interface Build {
  migrations?: readonly Migration[];
  release?: string;
}

interface Row {
  name: string;
  checksum: string;
  oldest: string | null;
}

async function appliedMigrations(db: Db): Promise<Row[]> {
  const [kept] = await db<{ there: boolean }[]>`select to_regclass('kernel.migrations') is not null as there`;
  // Versions before this one made the table without the column.
  return kept?.there
    ? db<Row[]>`select name, checksum, to_jsonb(m)->>'oldest' as oldest from kernel.migrations m order by name`
    : [];
}

/**
 * The migrations of a build that the database lacks, in order. Throws when an applied file was changed, and when the database has
 * migrations that the build does not know, unless all of them say that its release runs on and it lacks none of its own.
 */
export async function missingOf(
  db: Db,
  { migrations = readMigrations(), release = version }: Build = {},
): Promise<Migration[]> {
  const applied = new Map((await appliedMigrations(db)).map((row) => [row.name, row]));
  const missing = migrations.filter(({ name }) => !applied.has(name));
  for (const { name, checksum } of migrations) {
    const known = applied.get(name);
    if (known && known.checksum !== checksum) throw changed(name);
  }
  const own = new Set(migrations.map(({ name }) => name));
  const unknown = [...applied.values()].filter(({ name }) => !own.has(name));
  const foreign = unknown.filter(({ oldest }) => missing.length > 0 || !runsOn(release, oldest)).at(-1);
  if (foreign) {
    throw new CommandError(
      `a newer version of svc has changed this database (${foreign.name}); start that version, or restore a copy from before`,
    );
  }
  return missing;
}

/**
 * Names of this build's migrations that the database lacks. Newer ones it may have are fine for a gateway that runs:
 * they only add.
 */
export async function missingMigrations(db: Db): Promise<string[]> {
  const applied = new Set((await appliedMigrations(db)).map(({ name }) => name));
  return migrationNames().filter((name) => !applied.has(name));
}

/** Names of this build's migrations, in order. */
export const migrationNames = (): string[] => readMigrations().map(({ name }) => name);

/**
 * Fails, and says what to do, when the database lacks migrations of this build: a command applies none. A backup asks for less.
 */
export async function requireSchema(db: Db): Promise<void> {
  const missing = await missingMigrations(db);
  if (missing.length === 0) return;
  const which = missing.length === 1 ? `migration ${missing[0]}` : `${missing.length} migrations`;
  throw new CommandError(
    `the database lacks ${which} of this version; apply them: ./svc migrate, or start this version once: ./svc up`,
  );
}

/** Makes the list of applied migrations, in a transaction. What a migration says of older releases is a column since 0372. */
export async function prepareTable(tx: Db): Promise<void> {
  await tx`select pg_advisory_xact_lock(${migrationLock})`;
  await tx`create schema if not exists kernel`;
  await tx`create table if not exists kernel.migrations (
    name text primary key, checksum text not null, applied_at timestamptz not null default now(), oldest text)`;
  const [column] = await tx`
    select from pg_attribute where attrelid = 'kernel.migrations'::regclass and attname = 'oldest' and not attisdropped`;
  if (column) return;
  // A copy of the database that is being made holds every table.
  await tx.unsafe(`set local lock_timeout = ${lockTimeoutMs}`);
  await tx`alter table kernel.migrations add column oldest text`;
}

/** Whether it is applied; throws when it was another file. */
export async function isApplied(db: Db, { name, checksum }: Migration): Promise<boolean> {
  const [known] = await db<{ checksum: string }[]>`select checksum from kernel.migrations where name = ${name}`;
  if (known && known.checksum !== checksum) throw changed(name);
  return known !== undefined;
}

/** Writes that it is applied. */
export async function noteApplied(db: Db, { name, checksum, oldest }: Migration): Promise<void> {
  await db`insert into kernel.migrations (name, checksum, oldest) values (${name}, ${checksum}, ${oldest})`;
}

const changed = (name: string): Error =>
  new Error(`migration ${name} was changed after it was applied; add a new one instead`);
