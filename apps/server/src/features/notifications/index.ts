export { deepLink, notify, notifyMany, queueMail } from './notifications.notify.ts';
export type { NewNotification } from './notifications.rules.ts';
export type { NewMail } from './notifications.sql.ts';
export { sealedVapid } from './notifications.push.ts';
export { sealedWebhook } from './notifications.webhooks.ts';
