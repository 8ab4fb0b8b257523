import { contract } from '@svc/contract';
import { pageOf } from '../../kernel/db/paging.ts';
import { operation } from '../../kernel/feature.ts';
import { listSubscriptions as find } from './push/subscriptions.sql.ts';

export const listSubscriptions = operation(
  contract.notifications.listSubscriptions,
  async ({ db, clock, actor }, { query }) => {
    const { rows, next } = pageOf(await find(db, clock, actor.accountId, query), query.limit);
    const subscriptions = rows.map(
      ({
        last_delivered_at,
        delivered_at,
        last_error_at: at,
        last_error_status: status,
        last_error_reason: reason,
        ...row
      }) => ({
        ...row,
        ...(last_delivered_at !== null && { last_delivered_at }),
        ...(delivered_at !== null && { delivered_at }),
        ...(at !== null && reason !== null && { last_error: { at, ...(status !== null && { status }), reason } }),
      }),
    );
    return { subscriptions, ...next };
  },
);
