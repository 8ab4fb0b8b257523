import type { Manifest } from '../../kernel/feature.ts';
import { holdDeliveries } from './notifications.held.sql.ts';
import { deleteMails } from './notifications.sql.ts';
import { webhooksQuota } from './webhooks/webhooks.sql.ts';

export { countHeld, dropHeld, releaseHeld } from './notifications.held.sql.ts';
export { PrivateMails } from './notifications.mail.ts';
export {
  deepLink,
  notify,
  notifyMany,
  queueMail,
  reachesAnybody,
  resolveNotifications,
  wasTold,
} from './notifications.notify.ts';
export { sealedVapid } from './notifications.push.ts';
export type { EndOfCause } from './notifications.resolved.sql.ts';
export type { NewNotice, NewNotification, NoticeText } from './notifications.rules.ts';
export type { NewMail } from './notifications.sql.ts';
export { sealedWebhook } from './webhooks/deliver.ts';

/** The feature without a running platform. */
export const notificationsManifest: Manifest = {
  name: 'notifications',
  data: {
    tables: [
      'notifications.preferences',
      'notifications.subscriptions',
      'notifications.webhooks',
      'notifications.notifications',
    ],
    async end({ sql }, { email }) {
      return { deleted: { 'notifications.mails': email === undefined ? 0 : await deleteMails(sql, email) } };
    },
  },
  quotas: [webhooksQuota],
  restored: async ({ db }) => ({ 'pushes, mails and webhooks, held': await holdDeliveries(db) }),
};
