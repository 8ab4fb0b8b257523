import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { countUnread, listNotifications } from './notifications.sql.ts';
import { toRecord } from './notifications.view.ts';

export const list = operation(contract.notifications.list, async ({ db, actor, kernel }, { query }) => {
  const { limit, cursor: before, ...wanted } = query;
  // Read before the list: what comes after this place is not in it, or told once more.
  const cursor = await kernel.feed.end(actor.accountId);
  const [rows, unread] = await Promise.all([
    listNotifications(db, actor.accountId, { ...wanted, before, limit: limit + 1 }),
    countUnread(db, actor.accountId),
  ]);
  const page = rows.slice(0, limit);
  const last = rows.length > limit ? page.at(-1) : undefined;
  return {
    notifications: page.map((row) => toRecord(kernel.config, row)),
    unread_count: unread,
    cursor,
    ...(last && { next_cursor: last.ordinal }),
  };
});
