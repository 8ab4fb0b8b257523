import type { Db, Sql } from './db.ts';

/** A fact about the installation, if it is known. */
export async function readFact(sql: Db, name: string): Promise<Buffer | undefined> {
  return (await sql<{ value: Buffer }[]>`select value from kernel.facts where name = ${name}`)[0]?.value;
}

/**
 * A small fact about the installation, such as a key that it made for itself; `make` creates a missing one. When several
 * processes start at once, one wins, and all get the value that it stored.
 */
export async function readOrCreateFact(sql: Sql, name: string, make: () => Buffer): Promise<Buffer> {
  const known = await readFact(sql, name);
  if (known) return known;
  await sql`insert into kernel.facts (name, value) values (${name}, ${make()}) on conflict do nothing`;
  return (await readFact(sql, name)) as Buffer;
}

/** Writes a fact that is not there yet; of several processes that do, one is answered true. */
export async function claimFact(db: Db, name: string, value: Buffer): Promise<boolean> {
  const rows =
    await db`insert into kernel.facts (name, value) values (${name}, ${value}) on conflict do nothing returning 1`;
  return rows.length > 0;
}

/** Removes a fact; of several processes that do, one is answered true. */
export async function removeFact(db: Db, name: string): Promise<boolean> {
  return (await db`delete from kernel.facts where name = ${name} returning 1`).length > 0;
}

/** Sets a fact, whatever it was. */
export async function writeFact(db: Db, name: string, value: Buffer): Promise<void> {
  await db`
    insert into kernel.facts (name, value) values (${name}, ${value})
    on conflict (name) do update set value = excluded.value`;
}
