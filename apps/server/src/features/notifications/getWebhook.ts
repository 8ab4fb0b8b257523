import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { toWebhook } from './notifications.view.ts';
import { findWebhook } from './webhooks/webhooks.sql.ts';
import { openSecrets } from './webhooks/deliver.ts';

export const getWebhook = operation(contract.notifications.getWebhook, async ({ db, actor, kernel }, { params }) => {
  const row = await findWebhook(db, actor.accountId, params.id);
  if (!row) throw notFound('webhook');
  return toWebhook(row, openSecrets(kernel, row), actor);
});
