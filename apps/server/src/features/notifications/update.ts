import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { recordChanges } from './notifications.notify.ts';
import { markNotification } from './notifications.sql.ts';
import { toRecord } from './notifications.view.ts';

/** What `null` sets a mark back to. */
const isReset = (mark: boolean | null | undefined): false | undefined => (mark === null ? false : undefined);

export const update = operation(contract.notifications.update, (context, { params, body }) =>
  context.transaction(async (tx) => {
    const { accountId } = context.actor;
    const change = { read: body.read ?? isReset(body.read), archived: body.archived ?? isReset(body.archived) };
    const row = await markNotification(tx, context.clock, accountId, params.id, change);
    if (!row) throw notFound('notification');
    await recordChanges(context.kernel, tx, 'updated', [row]);
    return { notification: toRecord(context.kernel.config, row) };
  }),
);
