import type { JobDefinition } from '../../kernel/feature.ts';
import { sweep } from './hosts.sql.ts';

/** Every minute: forgets calls that are over. */
export const sweepCalls: JobDefinition = {
  name: 'hosts.sweep',
  cron: '* * * * *',
  retries: 0,
  run: (kernel) => sweep(kernel.sql),
};
