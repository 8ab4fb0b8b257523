import type { AccountData } from '../../kernel/deletion.ts';
import { deleteMails } from './notifications.sql.ts';
export { deepLink, notify, notifyMany, queueMail, reachesAnybody } from './notifications.notify.ts';
export type { NewNotification } from './notifications.rules.ts';
export type { NewMail } from './notifications.sql.ts';
export { sealedVapid } from './notifications.push.ts';
export { sealedWebhook } from './notifications.webhooks.ts';

/** What it keeps of an account. */
export const notificationsData: AccountData = {
  name: 'notifications',
  tables: ['notifications.subscriptions', 'notifications.webhooks', 'notifications.notifications'],
  async end({ sql }, { email }) {
    return { deleted: { 'notifications.mails': email === undefined ? 0 : await deleteMails(sql, email) } };
  },
};
