import { contract } from '@svc/contract';
import { noteLetIn } from '../../kernel/records/let-in.ts';
import { writeAct } from '../../kernel/records/audit.ts';
import { operation } from '../../kernel/feature.ts';
import { keepHidden } from '../../kernel/base/hidden.ts';
import { checkQuota } from '../../kernel/records/quotas.ts';
import { toWebhook } from './notifications.view.ts';
import { newSecret, refusedHeaders } from './webhooks/rules.ts';
import { insertWebhook, webhooksQuota } from './webhooks/webhooks.sql.ts';
import { checkAddress, checkFormat, sealSecrets } from './webhooks/deliver.ts';

export const createWebhook = operation(contract.notifications.createWebhook, async (context, { body }) => {
  const { kernel, actor, by, clock } = context;
  const { name, url, format, types, enabled } = body;
  const headers = keepHidden(body.headers ?? {}, {}, refusedHeaders);
  await checkAddress(kernel, url);
  checkFormat(url, format);
  const secrets = { url: new URL(url).href, secret: newSecret(), previous: [], headers };
  const row = await context.transaction(async (tx) => {
    await checkQuota(kernel.config, tx, webhooksQuota, actor.accountId);
    const sealed = sealSecrets(kernel, secrets);
    const fields = { name, format, types: types ?? null, enabled, sealed };
    const inserted = await insertWebhook(tx, clock, actor.accountId, fields);
    const { origin, host } = new URL(url);
    await noteLetIn(tx, actor, { kind: 'webhook', subject: inserted.id, name: host });
    const details = { name, format, origin };
    const act = { action: 'notifications.createWebhook', subject: inserted.id, details };
    await writeAct(tx, { accountId: actor.accountId, by, ...act });
    return inserted;
  });
  return { ...toWebhook(row, secrets, actor), secret: secrets.secret };
});
