import type { Kernel } from '../../kernel/kernel.ts';
import { writeAct } from '../../kernel/records/audit.ts';
import type { TakesBack } from '../../kernel/records/let-in.ts';
import { deleteSubscriptionById } from './push/subscriptions.sql.ts';
import { deleteWebhook, switchOff } from './webhooks/webhooks.sql.ts';

/** Takes back where an app had notifications go. A webhook that was there before stays, and sends nothing. */
export const notificationsTakeBack = ({ clock }: Pick<Kernel, 'clock'>): TakesBack => ({
  async webhook(tx, { ids: [id = ''], accountId, by, before }) {
    const isGone = before === undefined;
    if (!(await (isGone ? deleteWebhook(tx, accountId, id) : switchOff(tx, clock, accountId, id)))) return;
    const action = isGone ? 'notifications.removeWebhook' : 'notifications.updateWebhook';
    const details = isGone ? {} : { enabled: false };
    await writeAct(tx, { accountId, by, action, subject: id, details });
  },
  async push(tx, { ids: [id = ''], accountId }) {
    await deleteSubscriptionById(tx, accountId, id);
  },
});
