import type { JobDefinition } from '../../kernel/feature.ts';
import { forgetInvites } from './hosts.invites.sql.ts';
import { sweep } from './hosts.sql.ts';

/** Every minute: forgets calls and codes that are over. */
export const sweepCalls: JobDefinition = {
  name: 'hosts.sweep',
  cron: '* * * * *',
  retries: 0,
  async run({ sql, clock }) {
    await sweep(sql);
    await forgetInvites(sql, clock);
  },
};
