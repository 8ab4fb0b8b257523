import { randomUUID } from 'node:crypto';
import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { findEmail } from '../accounts/index.ts';
import { notify } from './notifications.notify.ts';
import { findByKey, type NotificationRow, targetsOf, testType } from './notifications.sql.ts';
import { toRecord } from './notifications.view.ts';
import { takeTest } from './webhooks/deliver.ts';
import { listWebhooks, type WebhookRow } from './webhooks/webhooks.sql.ts';

export const sendTest = operation(contract.notifications.sendTest, async (context) => {
  const { kernel, actor } = context;
  await takeTest(kernel, actor.accountId);
  return context.transaction(async (tx) => {
    const { accountId } = actor;
    const dedupeKey = `notification.test:${randomUUID()}`;
    await notify(kernel, tx, {
      accountId,
      dedupeKey,
      type: testType,
      says: ({ test: { title, text: body } }) => ({ title, body }),
      severity: 'info',
    });
    const row = (await findByKey(tx, accountId, dedupeKey)) as NotificationRow;
    const deliveries = await targetsOf(tx, accountId, dedupeKey);
    const browsers = deliveries.filter(({ endpoint }) => endpoint !== null);
    const mail =
      kernel.config.mail === undefined
        ? {
            channel: 'mail',
            sent: false,
            reason: 'this installation has no mail server; its operator sets SVC_SMTP_URL',
          }
        : { channel: 'mail', to: (await findEmail(tx, accountId)) ?? '', sent: true };
    return {
      notification: toRecord(kernel.config, row),
      targets: [
        { channel: 'inbox', to: accountId, sent: true },
        // The rest of the address is a secret of that browser.
        ...browsers.map(({ endpoint }) => ({ channel: 'push', to: new URL(endpoint ?? '').host, sent: true })),
        ...(browsers.length > 0
          ? []
          : [{ channel: 'push', sent: false, reason: 'no browser of the account is subscribed' }]),
        mail,
        ...webhookTargets(
          await listWebhooks(tx, accountId, { limit: mostWebhooks }),
          deliveries.flatMap(({ webhook_id: id }) => id ?? []),
        ),
      ],
    };
  });
});

/** As many are told of; more get theirs. */
const mostWebhooks = 100;

function webhookTargets(webhooks: readonly WebhookRow[], told: readonly string[]) {
  if (webhooks.length === 0) return [{ channel: 'webhook', sent: false, reason: 'the account has no webhook' }];
  return webhooks.map(({ id, name, enabled }) => {
    const target = { channel: 'webhook', to: name };
    if (told.includes(id)) return { ...target, sent: true };
    const reason = enabled ? 'it is being changed; try again' : 'it is switched off';
    return { ...target, sent: false, reason };
  });
}
