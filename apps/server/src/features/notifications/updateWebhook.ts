import { contract, webhookFormats } from '@svc/contract';
import { noteChange } from '../../kernel/records/app-changes.ts';
import { noteLetIn } from '../../kernel/records/let-in.ts';
import { writeAct } from '../../kernel/records/audit.ts';
import { notFound } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { keepHidden } from '../../kernel/base/hidden.ts';
import { toWebhook } from './notifications.view.ts';
import { isOtherServer, newSecret, refusedHeaders } from './webhooks/rules.ts';
import { findWebhook, lockWebhook, updateWebhook as updateRow } from './webhooks/webhooks.sql.ts';
import { resolveNotifications } from './notifications.notify.ts';
import {
  checkAddress,
  checkFormat,
  disabledCause,
  openSecrets,
  refusedBroken,
  sealSecrets,
} from './webhooks/deliver.ts';

/** Changes a webhook. Stored headers stay with their server: for another one they are given anew. */
export const updateWebhook = operation(contract.notifications.updateWebhook, async (context, { params, body }) => {
  const { kernel, actor, by, clock, db } = context;
  if (!(await findWebhook(db, actor.accountId, params.id))) throw notFound('webhook');
  if (body.url !== undefined) await checkAddress(kernel, body.url);
  return context.transaction(async (tx) => {
    const row = await lockWebhook(tx, actor.accountId, params.id);
    if (!row) throw notFound('webhook');
    const opened = openSecrets(kernel, row);
    if (!opened && body.url === undefined) throw refusedBroken();
    // One that cannot be opened begins anew: its secret is made, and shown when it is rotated.
    const stored = opened ?? { url: body.url as string, secret: newSecret(), previous: [], headers: {} };
    const url = body.url === undefined ? stored.url : new URL(body.url).href;
    const known = isOtherServer(url, stored.url) ? {} : stored.headers;
    if (body.headers === undefined && Object.keys(stored.headers).length > Object.keys(known).length) {
      throw refusedHeaders('the address is of another server; send the headers that are for it, or null');
    }
    const headers = body.headers === undefined ? known : keepHidden(body.headers ?? {}, known, refusedHeaders);
    const { name = row.name } = body;
    const format = body.format === undefined ? row.format : (body.format ?? webhookFormats[0]);
    const enabled = body.enabled === undefined ? row.enabled : (body.enabled ?? true);
    checkFormat(url, format);
    const secrets = { ...stored, url, headers };
    const types = body.types === undefined ? row.types : body.types;
    const sealed = sealSecrets(kernel, secrets);
    const details = { name, enabled, fields: Object.keys(body), origin: new URL(url).origin };
    const act = { action: 'notifications.updateWebhook', subject: row.id, details };
    await writeAct(tx, { accountId: actor.accountId, by, ...act });
    const isElsewhere = url !== opened?.url || format !== row.format;
    // Where an app has a person's go, it is switched off with the app: its former address is not kept.
    const changed = { kind: 'webhook', subject: row.id, name: new URL(url).host, before: 'elsewhere' } as const;
    if (url !== opened?.url) await noteLetIn(tx, actor, changed);
    if (body.types !== undefined || body.headers !== undefined || body.format !== undefined || enabled !== row.enabled)
      await noteChange(tx, actor, { kind: 'webhook_terms', subject: row.id, name: name ?? new URL(url).host });
    if (enabled && !row.enabled) {
      const end = { accountId: actor.accountId, cause: disabledCause(row.id), resolution: 'resumed' } as const;
      await resolveNotifications(kernel, tx, [end]);
    }
    const terms = { name, format, types, enabled, sealed, isElsewhere };
    return toWebhook(await updateRow(tx, clock, row.id, terms), secrets, actor);
  });
});
