import { writeAct } from '../../kernel/records/audit.ts';
import type { TakesBack } from '../../kernel/records/let-in.ts';
import { deleteSubscriptionById } from './push/subscriptions.sql.ts';
import { deleteWebhook } from './webhooks/webhooks.sql.ts';

/** Takes back where an app had notifications go. */
export const notificationsTakeBack: TakesBack = {
  async webhook(tx, { ids: [id = ''], accountId, by }) {
    if (await deleteWebhook(tx, accountId, id))
      await writeAct(tx, { accountId, by, action: 'notifications.removeWebhook', subject: id });
  },
  async push(tx, { ids: [id = ''], accountId }) {
    await deleteSubscriptionById(tx, accountId, id);
  },
};
