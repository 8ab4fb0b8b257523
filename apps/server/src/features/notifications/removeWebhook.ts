import { contract } from '@svc/contract';
import { noteChangesGone } from '../../kernel/records/app-changes.ts';
import { noteGone } from '../../kernel/records/let-in.ts';
import { writeAct } from '../../kernel/records/audit.ts';
import { notFound } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { resolveNotifications } from './notifications.notify.ts';
import { disabledCause } from './webhooks/deliver.ts';
import { deleteWebhook } from './webhooks/webhooks.sql.ts';

export const removeWebhook = operation(contract.notifications.removeWebhook, async (context, { params: { id } }) => {
  const { actor, by, kernel } = context;
  await context.transaction(async (tx) => {
    if (!(await deleteWebhook(tx, actor.accountId, id))) throw notFound('webhook');
    await noteGone(tx, ['webhook'], id);
    await noteChangesGone(tx, ['webhook_secret', 'webhook_terms'], id);
    const end = { accountId: actor.accountId, cause: disabledCause(id), resolution: 'removed' } as const;
    await resolveNotifications(kernel, tx, [end]);
    await writeAct(tx, { accountId: actor.accountId, by, action: 'notifications.removeWebhook', subject: id });
  });
  return { deleted: true as const, id };
});
