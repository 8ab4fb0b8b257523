import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { openDatabase } from '../apps/server/src/kernel/db/db.ts';
import { findRunning } from '../apps/server/src/postgres/embedded.ts';

/** Commands that only look, as README and `--help` name them. */
export const looks: readonly (readonly string[])[] = [
  ['--help'],
  ['--version'],
  ['settings'],
  ['keys', '--help'],
  ['status'],
  ['migrate', '--check'],
  ['migrate', '--dry-run'],
  ['images', 'list'],
  ['doctor'],
  ['keys', 'list'],
];

/** The others of the features: they open what `keys list` opens, and are run without a process of their own. */
export const looksOfFeatures: readonly (readonly string[])[] = [
  ['accounts', 'list'],
  ['accounts', 'show'],
  ['keys', 'tree'],
  ['audit'],
  ['wallet', 'show'],
];

/** Some of them: one for each way to what they look at. */
export const ways: readonly (readonly string[])[] = [
  ['status'],
  ['migrate', '--check'],
  ['images', 'list'],
  ['doctor'],
  ['keys', 'list'],
];

/** Commands that change something, each in the database alone; in this order, on a platform of their own. */
export const changes: readonly (readonly string[])[] = [
  ['accounts', 'create', '--email', 'other@example.test'],
  ['accounts', 'set', '--email', 'other@example.test', '--feature', 'sandboxes=off'],
  ['accounts', 'suspend', '--email', 'other@example.test'],
  ['accounts', 'resume', '--email', 'other@example.test'],
  ['accounts', 'quota', '--email', 'other@example.test', '--name', 'keys', '--limit', '5'],
  ['keys', 'create', '--email', 'other@example.test', '--name', 'phone'],
  ['orgs', 'create', '--name', 'Org', '--owner', 'other@example.test'],
  ['wallet', 'credit', '--email', 'other@example.test', '--micro-eur', '5'],
  ['accounts', 'delete', '--email', 'other@example.test', '--yes'],
];

/** Modes, owners, sizes and times of a data dir's files; of the database, which is at work, the folder alone. */
export function filesOf(dataDir: string): Record<string, string> {
  const found: Record<string, string> = {};
  const look = (path: string, name: string): void => {
    const { mode, uid, gid, size, mtimeMs } = lstatSync(path);
    const isOfDatabase = ['postgres', 'run', 'postgres.log'].includes(name);
    found[name] = [mode.toString(8), uid, gid, ...(isOfDatabase ? [] : [size, mtimeMs])].join(' ');
    if (!lstatSync(path).isDirectory() || isOfDatabase) return;
    for (const entry of readdirSync(path)) look(join(path, entry), join(name, entry));
  };
  look(dataDir, '');
  return found;
}

/** The migrations of the database, which commands could change. */
export async function schemaOf(dataDir: string): Promise<unknown[]> {
  return asked(dataDir, 'select name, applied_at from kernel.migrations order by name');
}

/** Asks the running database of a data dir. */
export async function asked(dataDir: string, query: string): Promise<unknown[]> {
  const embedded = findRunning(dataDir);
  if (!embedded) throw new Error('the database does not run');
  const sql = openDatabase({ embedded, database: 'svc' }, 1);
  try {
    return [...(await sql.unsafe(query))].map((row): unknown => Object.fromEntries(Object.entries(row)));
  } finally {
    await sql.end({ timeout: 1 });
  }
}
