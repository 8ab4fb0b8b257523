import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { pageOf } from '../../kernel/db/paging.ts';
import { toWebhook } from './notifications.view.ts';
import { listWebhooks as listRows } from './webhooks/webhooks.sql.ts';
import { openSecrets } from './webhooks/deliver.ts';

export const listWebhooks = operation(contract.notifications.listWebhooks, async (context, { query }) => {
  const { db, actor, kernel } = context;
  const { rows, next } = pageOf(await listRows(db, actor.accountId, query), query.limit);
  return { webhooks: rows.map((row) => toWebhook(row, openSecrets(kernel, row), actor)), ...next };
});
