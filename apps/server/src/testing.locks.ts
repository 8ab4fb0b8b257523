import type { Db } from './kernel/db/db.ts';

/** How many wait for a lock on a table of this database. The server's locks are those of all tests that run. */
export async function waitingFor(sql: Db, table: string): Promise<number> {
  const [row] = await sql<{ n: number }[]>`
    select count(*)::int as n from pg_locks where not granted and relation = ${table}::regclass
      and database = (select oid from pg_database where datname = current_database())`;
  return row?.n ?? 0;
}
