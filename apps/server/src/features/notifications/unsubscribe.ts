import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { deleteSubscription } from './push/subscriptions.sql.ts';

export const unsubscribe = operation(contract.notifications.unsubscribe, async (context, { body }) => {
  const id = await deleteSubscription(context.db, context.actor.accountId, body.endpoint);
  if (id === undefined) throw notFound('subscription');
  return { deleted: true as const, id };
});
