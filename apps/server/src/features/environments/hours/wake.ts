import { ApiError } from '../../../kernel/base/errors.ts';
import { inTransaction } from '../../../kernel/db/db.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { bySystem } from '../../../kernel/records/audit.ts';
import { lockEnvironment } from '../environments.sql.ts';
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
