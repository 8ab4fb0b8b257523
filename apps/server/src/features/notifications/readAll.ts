import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { recordReadAll } from './notifications.notify.ts';
import { markAllRead } from './notifications.sql.ts';

export const readAll = operation(contract.notifications.readAll, (context) =>
  context.transaction(async (tx) => {
    const { accountId } = context.actor;
    const { count, at } = await markAllRead(tx, context.clock, accountId);
    if (count > 0) await recordReadAll(context.kernel, tx, accountId, at);
    return { updated: count };
  }),
);
