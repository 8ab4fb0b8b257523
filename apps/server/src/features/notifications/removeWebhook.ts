import { contract } from '@svc/contract';
import { notFound } from '../../kernel/http/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { deleteWebhook } from './notifications.webhooks.sql.ts';

export const removeWebhook = operation(contract.notifications.removeWebhook, async ({ db, actor }, { params }) => {
  if (!(await deleteWebhook(db, actor.accountId, params.id))) throw notFound('webhook');
  return { deleted: true as const, id: params.id };
});
