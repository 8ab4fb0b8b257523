import type { JobDefinition } from '../../kernel/feature.ts';
import { sweepOld } from './notifications.sql.ts';

const keptDays = 90;

/** Every night: forgets notifications and e-mail older than 90 days, with the keys they were known by. */
export const sweepNotifications: JobDefinition = {
  name: 'notifications.sweep',
  cron: '17 3 * * *',
  retries: 0,
  run: (kernel) => sweepOld(kernel.sql, keptDays),
};
