import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { toAttempt } from './notifications.view.ts';
import { findWebhook, listAttempts } from './webhooks/webhooks.sql.ts';

export const webhookDeliveries = operation(
  contract.notifications.webhookDeliveries,
  async ({ db, actor }, { params, query }) => {
    if (!(await findWebhook(db, actor.accountId, params.id))) throw notFound('webhook');
    return { deliveries: (await listAttempts(db, params.id, query.limit)).map(toAttempt) };
  },
);
