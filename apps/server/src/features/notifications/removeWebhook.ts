import { contract } from '@svc/contract';
import { noteGone } from '../../kernel/records/let-in.ts';
import { writeAct } from '../../kernel/records/audit.ts';
import { notFound } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { deleteWebhook } from './webhooks/webhooks.sql.ts';

export const removeWebhook = operation(contract.notifications.removeWebhook, async (context, { params: { id } }) => {
  const { actor, by } = context;
  await context.transaction(async (tx) => {
    if (!(await deleteWebhook(tx, actor.accountId, id))) throw notFound('webhook');
    await noteGone(tx, ['webhook'], id);
    await writeAct(tx, { accountId: actor.accountId, by, action: 'notifications.removeWebhook', subject: id });
  });
  return { deleted: true as const, id };
});
