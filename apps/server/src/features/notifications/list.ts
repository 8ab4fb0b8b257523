import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { countUnread, listNotifications } from './notifications.sql.ts';
import { toRecord } from './notifications.view.ts';

export const list = operation(contract.notifications.list, async ({ db, actor, kernel }, { query }) => {
  const [rows, unread] = await Promise.all([
    listNotifications(db, actor.accountId, query),
    countUnread(db, actor.accountId),
  ]);
  return { notifications: rows.map((row) => toRecord(kernel.config, row)), unread_count: unread };
});
