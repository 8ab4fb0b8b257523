import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A file of migrations. */
export interface Migration {
  name: string;
  sql: string;
  checksum: string;
  /** It runs outside of a transaction: what it holds is made or dropped `concurrently`. */
  concurrently: boolean;
  /** The oldest release that runs on the schema with it; null: only those that have the file. */
  oldest: string | null;
}

const migrationsDir = join(import.meta.dirname, '../../../migrations');
const additive = '0.0.0';
const mark = /^-- (?:additive|gone since (\d+\.\d+\.\d+))(, concurrently)?$/;

/**
 * The mark in the first line of a migration: `-- additive` (every release before runs on with it), or `-- gone since 0.1.0`
 * (what it takes away is read by no release from that one on); then `, concurrently`, where it needs no transaction.
 */
export function markOf(sql: string): Pick<Migration, 'concurrently' | 'oldest'> | undefined {
  const found = mark.exec(sql.slice(0, Math.max(0, sql.indexOf('\n'))));
  return found ? { oldest: found[1] ?? additive, concurrently: found[2] !== undefined } : undefined;
}

/** The migrations of a folder, in order. */
export function readMigrations(folder = migrationsDir): Migration[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.sql'))
    .sort()
    .map((file) => {
      const sql = readFileSync(join(folder, file), 'utf8');
      const checksum = createHash('sha256').update(sql).digest('hex');
      const marks = markOf(sql) ?? { concurrently: false, oldest: null };
      return { name: file.replace(/\.sql$/, ''), sql, checksum, ...marks };
    });
}

/** Whether a release, such as 0.2.0, runs on a schema that needs `oldest` at least. */
export function runsOn(release: string, oldest: string | null): boolean {
  if (oldest === null) return false;
  const [own, least] = [release, oldest].map((each) => each.split(/[.+-]/).slice(0, 3).map(Number));
  for (const [at, number] of (own ?? []).entries()) {
    if (number !== least?.[at]) return number > (least?.[at] ?? 0);
  }
  return true;
}
