import type { JobDefinition } from '../../kernel/feature.ts';
import { sweepOld } from './notifications.sql.ts';
import { sweepAttempts } from './notifications.webhooks.sql.ts';

const keptDays = 90;
const keptAttemptDays = 7;

/** Every night: forgets notifications and e-mail older than 90 days, with the keys they were known by, and attempts at webhooks older than 7. */
export const sweepNotifications: JobDefinition = {
  name: 'notifications.sweep',
  cron: '17 3 * * *',
  retries: 0,
  async run({ sql }) {
    await sweepOld(sql, keptDays);
    await sweepAttempts(sql, keptAttemptDays);
  },
};
