import { contract } from '@svc/contract';
import { ApiError, notFound } from '../../kernel/http/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { findWebhook } from './notifications.webhooks.sql.ts';
import { tryWebhook } from './notifications.webhooks.ts';

/** Each sends a request to an address of the caller's choice. */
const limit = { name: 'webhook_tests', perMinute: 30 };

export const testWebhook = operation(contract.notifications.testWebhook, async ({ db, actor, kernel }, { params }) => {
  const row = await findWebhook(db, actor.accountId, params.id);
  if (!row) throw notFound('webhook');
  const { allowed, resetSeconds } = await kernel.limiter.take(limit, actor.accountId);
  if (!allowed) {
    const message = `an account may test its webhooks ${limit.perMinute} times a minute; try again later`;
    throw new ApiError('rate_limit_exceeded', message, { headers: { 'retry-after': String(resetSeconds) } });
  }
  const { ok, status, reason, durationMs } = await tryWebhook(kernel, row);
  return {
    ok,
    ...(status !== undefined && { status }),
    ...(reason !== undefined && { reason }),
    duration_ms: durationMs,
  };
});
