import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { noteArrived } from './push/subscriptions.sql.ts';

export const pushDelivered = operation(
  contract.notifications.pushDelivered,
  async ({ db, clock, actor: { accountId } }, { params: { id }, body }) => {
    const at = await noteArrived(db, clock, { accountId, id, notificationId: body.notification_id });
    if (at === undefined) throw notFound('subscription or notification');
    return { delivered_at: at };
  },
);
