import { contract } from '@svc/contract';
import { noteChange } from '../../kernel/records/app-changes.ts';
import { writeAct } from '../../kernel/records/audit.ts';
import { notFound } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { toWebhook } from './notifications.view.ts';
import { rotated } from './webhooks/rules.ts';
import { lockWebhook, updateWebhook } from './webhooks/webhooks.sql.ts';
import { openSecrets, refusedBroken, sealSecrets } from './webhooks/deliver.ts';

export const rotateWebhookSecret = operation(contract.notifications.rotateWebhookSecret, (context, { params }) =>
  context.transaction(async (tx) => {
    const { kernel, actor, by, clock } = context;
    const row = await lockWebhook(tx, actor.accountId, params.id);
    if (!row) throw notFound('webhook');
    const stored = openSecrets(kernel, row);
    if (!stored) throw refusedBroken();
    const { until, ...secrets } = rotated(stored, clock.now());
    const updated = await updateWebhook(tx, clock, row.id, { ...row, sealed: sealSecrets(kernel, secrets) });
    const name = row.name ?? new URL(stored.url).host;
    await noteChange(tx, actor, { kind: 'webhook_secret', subject: row.id, name });
    const act = { action: 'notifications.rotateWebhookSecret', subject: row.id };
    await writeAct(tx, { accountId: actor.accountId, by, ...act });
    const previousUntil = new Date(until).toISOString();
    return { ...toWebhook(updated, secrets, actor), secret: secrets.secret, previous_until: previousUntil };
  }),
);
