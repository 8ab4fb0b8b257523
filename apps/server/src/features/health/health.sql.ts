import type { Db } from '../../kernel/db/db.ts';

/** Last known health by provider id. */
export async function providerHealth(db: Db): Promise<Map<string, boolean>> {
  const rows = await db<{ id: string; healthy: boolean }[]>`select id, healthy from health.providers`;
  return new Map(rows.map((row) => [row.id, row.healthy]));
}

/** Stores what a probe found. */
export async function storeHealth(db: Db, id: string, healthy: boolean): Promise<void> {
  await db`
    insert into health.providers (id, healthy) values (${id}, ${healthy})
    on conflict (id) do update set healthy = excluded.healthy, checked_at = now()`;
}
