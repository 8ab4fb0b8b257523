import { randomBytes } from 'node:crypto';
import type { Db, Sql } from '../kernel/db/db.ts';
import { readOrCreateFact } from '../kernel/db/facts.ts';

/** As the node and the providers of machines know the platform. */
export const newInstallation = (): Buffer => randomBytes(16);

/** The id of this installation, in hexadecimal. */
export const installationOf = async (sql: Sql): Promise<string> =>
  (await readOrCreateFact(sql, 'installation', newInstallation)).toString('hex');

/** The server's version and where its files are. */
export async function serverOf(db: Db): Promise<{ major: number; directory: string }> {
  const [row] = await db<{ version: string; directory: string }[]>`
    select current_setting('server_version_num') as version, current_setting('data_directory') as directory`;
  if (!row) throw new Error('the database did not say where its files are');
  return { major: Math.floor(Number(row.version) / 10_000), directory: row.directory };
}

/** Name of the last migration. */
export async function lastMigration(db: Db): Promise<string> {
  const [row] = await db<{ name: string }[]>`select name from kernel.migrations order by name desc limit 1`;
  return row?.name ?? '';
}

/** Rows of each table of ours; reads all of them. */
export async function countRows(db: Db): Promise<Record<string, number>> {
  const tables = await db<{ name: string }[]>`
    select oid::regclass::text as name from pg_class
    where relkind = 'r' and relnamespace::regnamespace::text not in ('pg_catalog', 'information_schema') order by 1`;
  const counts: Record<string, number> = {};
  for (const { name } of tables) {
    const [row] = await db.unsafe<{ rows: number }[]>(`select count(*) as rows from ${name}`);
    counts[name] = row?.rows ?? 0;
  }
  return counts;
}

/** Forgets a fact about the installation. */
export async function deleteFact(db: Db, name: string): Promise<void> {
  await db`delete from kernel.facts where name = ${name}`;
}
