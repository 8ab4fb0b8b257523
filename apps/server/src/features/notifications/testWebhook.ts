import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { findWebhook } from './webhooks/webhooks.sql.ts';
import { takeTest, tryWebhook } from './webhooks/deliver.ts';

export const testWebhook = operation(contract.notifications.testWebhook, async ({ db, actor, kernel }, { params }) => {
  const row = await findWebhook(db, actor.accountId, params.id);
  if (!row) throw notFound('webhook');
  await takeTest(kernel, actor.accountId);
  const { ok, status, reason, durationMs } = await tryWebhook(kernel, row);
  return {
    ok,
    ...(status !== undefined && { status }),
    ...(reason !== undefined && { reason }),
    duration_ms: durationMs,
  };
});
