import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { recordChanges } from './notifications.notify.ts';
import { markNotification } from './notifications.sql.ts';
import { toRecord } from './notifications.view.ts';

export const update = operation(contract.notifications.update, (context, { params, body }) =>
  context.transaction(async (tx) => {
    const { accountId } = context.actor;
    const row = await markNotification(tx, context.clock, accountId, params.id, body);
    if (!row) throw notFound('notification');
    await recordChanges(context.kernel, tx, 'updated', [row]);
    return { notification: toRecord(context.kernel.config, row) };
  }),
);
