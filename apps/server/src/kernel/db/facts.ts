import type { Sql } from './db.ts';

/**
 * A small fact about the installation, such as a key that it made for itself. `make` is asked when there is none; of
 * several processes that start at once one wins, and all get what it stored.
 */
export async function readOrCreateFact(sql: Sql, name: string, make: () => Buffer): Promise<Buffer> {
  const read = async (): Promise<Buffer | undefined> =>
    (await sql<{ value: Buffer }[]>`select value from kernel.facts where name = ${name}`)[0]?.value;
  const known = await read();
  if (known) return known;
  await sql`insert into kernel.facts (name, value) values (${name}, ${make()}) on conflict do nothing`;
  return (await read()) as Buffer;
}
