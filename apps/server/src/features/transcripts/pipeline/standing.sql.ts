import type { Db } from '../../../kernel/db/db.ts';

/** Those of the accounts that may not have anything done now. */
export async function suspendedOf(db: Db, accountIds: readonly string[]): Promise<string[]> {
  const rows = await db<{ id: string }[]>`
    select id from accounts.standing_view where id = any(${[...accountIds]}::uuid[]) and not may_run`;
  return rows.map(({ id }) => id);
}
