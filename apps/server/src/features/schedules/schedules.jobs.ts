import { inTransaction } from '../../kernel/db/db.ts';
import type { JobDefinition } from '../../kernel/feature.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { openSpec, sealHeaders } from './schedules.headers.ts';
import { listClearHeaders, lockSchedule, storeHeaders } from './schedules.sql.ts';

const batch = 200;
const beforeAll = '00000000-0000-0000-0000-000000000000';

type Parts = Pick<Kernel, 'sql' | 'keyring' | 'gateways' | 'log'>;

/**
 * Seals header values that a gateway of an earlier version stored in clear, each schedule by itself: one that cannot be
 * sealed stays as it is. Ends early when `signal` is aborted.
 */
export async function sealClear({ sql, keyring, gateways, log }: Parts, signal?: AbortSignal): Promise<void> {
  for (let after = beforeAll; ; ) {
    const ids = await listClearHeaders(sql, after, batch);
    for (const id of ids) {
      if (signal?.aborted) return;
      await gateways.prove();
      try {
        await inTransaction(sql, async (db) => {
          const row = await lockSchedule(db, id);
          if (row) await storeHeaders(db, id, sealHeaders(keyring, { ...row, spec: openSpec(keyring, row) }));
        });
      } catch (err) {
        log.error({ err, schedule: id }, 'headers of a schedule were not sealed; send its spec anew');
      }
    }
    const last = ids.at(-1);
    if (last === undefined) return;
    after = last;
  }
}

/**
 * Every night: what was not sealed at a start. A gateway of an earlier version, which cannot open it, may run beside this
 * one while an installation is upgraded; by night it is gone.
 */
export const sealClearHeaders: JobDefinition = {
  name: 'schedules.sealHeaders',
  cron: '41 3 * * *',
  run: (kernel) => sealClear(kernel),
};
