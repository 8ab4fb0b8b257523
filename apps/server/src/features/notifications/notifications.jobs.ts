import type { JobDefinition } from '../../kernel/feature.ts';
import { sweepOld } from './notifications.sql.ts';
import { dropUntold } from './push/subscriptions.sql.ts';
import { sweepAttempts } from './webhooks/webhooks.sql.ts';

const keptAttemptDays = 7;

/** Every night: forgets old notifications and e-mail, with the keys they were known by, and attempts at webhooks older than 7 days, and browsers that were signed out. */
export const sweepNotifications: JobDefinition = {
  name: 'notifications.sweep',
  cron: '17 3 * * *',
  retries: 0,
  async run({ sql, clock, config }) {
    await sweepOld(sql, clock, config.notificationDays);
    await dropUntold(sql);
    await sweepAttempts(sql, clock, keptAttemptDays);
  },
};
