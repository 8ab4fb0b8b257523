import { ApiError } from '../../../kernel/base/errors.ts';
import { inTransaction } from '../../../kernel/db/db.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { bySystem, type Who } from '../../../kernel/records/audit.ts';
import { isAtLeast } from '../environments.access.ts';
import { findSeen, lockEnvironment } from '../environments.sql.ts';
import type { EnvironmentState } from '../environments.states.ts';
import type { Environments } from '../environments.store.ts';
import { environmentsToWake } from './wake.sql.ts';

const doer = { accountId: null, kind: 'system', by: bySystem } as const;

/** Starts machines that runs of schedules wait for. Without an hour of balance, or past its budget, one stays as it is. */
export async function wakeAll(
  { background, clock, log }: Pick<Kernel, 'background' | 'clock' | 'log'>,
  environments: Environments,
): Promise<void> {
  for (const id of await environmentsToWake(background, clock)) {
    await inTransaction(background, async (tx) => {
      const row = await lockEnvironment(tx, id, { isPatient: false });
      if (row?.state === 'stopped') await environments.move(tx, row, 'start', {}, doer);
    }).catch((err: unknown) => {
      if (!(err instanceof ApiError)) log.error({ err, environment: id }, 'a machine was not started for a run');
    });
  }
}

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
