import { inTransaction } from '../../kernel/db/db.ts';
import type { JobDefinition } from '../../kernel/feature.ts';
import { openSpec, sealHeaders } from './schedules.headers.ts';
import { listClearHeaders, lockSchedule, storeHeaders } from './schedules.sql.ts';

const batch = 200;

/**
 * Every night: seals header values that a gateway of an earlier version stored in clear. By night: such a gateway, which
 * cannot open them, may run beside this one while an installation is upgraded.
 */
export const sealClearHeaders: JobDefinition = {
  name: 'schedules.sealHeaders',
  cron: '41 3 * * *',
  async run({ sql, keyring }) {
    for (let ids = await listClearHeaders(sql, batch); ids.length > 0; ids = await listClearHeaders(sql, batch)) {
      for (const id of ids) {
        await inTransaction(sql, async (db) => {
          const row = await lockSchedule(db, id);
          if (row) await storeHeaders(db, id, sealHeaders(keyring, { ...row, spec: openSpec(keyring, row) }));
        });
      }
    }
  },
};
