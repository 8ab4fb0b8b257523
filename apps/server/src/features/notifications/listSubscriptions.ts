import { contract } from '@svc/contract';
import { pageOf } from '../../kernel/db/paging.ts';
import { operation } from '../../kernel/feature.ts';
import { listSubscriptions as find } from './push/subscriptions.sql.ts';

export const listSubscriptions = operation(
  contract.notifications.listSubscriptions,
  async ({ db, clock, actor }, { query }) => {
    const { rows, next } = pageOf(await find(db, clock, actor.accountId, query), query.limit);
    const subscriptions = rows.map(({ last_delivered_at, ...row }) => ({
      ...row,
      ...(last_delivered_at !== null && { last_delivered_at }),
    }));
    return { subscriptions, ...next };
  },
);
