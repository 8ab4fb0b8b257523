import { inTransaction } from '../../kernel/db/db.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { Who } from '../../kernel/records/audit.ts';
import { isAtLeast } from './environments.access.ts';
import { findSeen } from './environments.sql.ts';
import type { EnvironmentState } from './environments.states.ts';
import type { Environments } from './environments.store.ts';

/**
 * Starts a machine that stands still at its provider, for a visitor who may start it; answers the state that it is in then, or
 * undefined for an environment that the visitor has no role in. Throws 402 as starting it does.
 */
export async function wakeFor(
  { sql }: Pick<Kernel, 'sql'>,
  environments: Environments,
  { id, accountId, by }: { id: string; accountId: string; by: Who },
): Promise<EnvironmentState | undefined> {
  const seen = await findSeen(sql, accountId, id);
  if (seen?.state !== 'stopped' || !isAtLeast(seen.role, 'maintainer')) return seen?.state;
  return inTransaction(sql, async (tx) => {
    const row = await findSeen(tx, accountId, id, true);
    // Of many requests of one page the first starts it.
    if (row?.state !== 'stopped' || !isAtLeast(row.role, 'maintainer')) return row?.state;
    return (await environments.move(tx, row, 'start', {}, { accountId, kind: 'user', by })).to;
  });
}
