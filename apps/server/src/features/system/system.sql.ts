import type { Db } from '../../kernel/db/db.ts';

/** Gateways whose lease counts. */
export async function listGateways(db: Db): Promise<string[]> {
  return (await db<{ id: string }[]>`select id from kernel.live_gateways_view order by id limit 1000`).map(
    ({ id }) => id,
  );
}
