import { manifests } from '../features.ts';
import { type Db, inTransaction, type Sql } from '../kernel/db/db.ts';
import { type Instant, instantOf } from '../kernel/db/instant.ts';
import { addCounts, type Counts } from '../kernel/deletion.ts';
import { byCommand, writeAct } from '../kernel/records/audit.ts';

/** Every feature's part of a restore, in one transaction; answers how much does not go on as it was. */
export const settleDatabase = (sql: Sql, backedUpAt: Instant): Promise<Counts> =>
  inTransaction(sql, (db) => settleIn(db, backedUpAt));

/** The same, as a part of a transaction. */
export async function settleIn(db: Db, backedUpAt: Instant): Promise<Counts> {
  const changed: Counts = {};
  const restoring = { db, now: instantOf(Date.now()), backedUpAt };
  for (const { restored } of manifests) addCounts(changed, (await restored?.(restoring)) ?? {});
  const details = { backed_up_at: backedUpAt.iso };
  await writeAct(db, { accountId: null, by: byCommand, action: 'platform.restore', details });
  return changed;
}
