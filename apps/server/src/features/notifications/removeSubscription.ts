import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { deleteSubscriptionById } from './push/subscriptions.sql.ts';

export const removeSubscription = operation(
  contract.notifications.removeSubscription,
  async ({ db, actor }, { params: { id } }) => {
    if (!(await deleteSubscriptionById(db, actor.accountId, id))) throw notFound('subscription');
    return { deleted: true as const, id };
  },
);
