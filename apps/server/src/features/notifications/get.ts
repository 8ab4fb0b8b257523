import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { findNotifications } from './notifications.sql.ts';
import { toRecord } from './notifications.view.ts';

export const get = operation(contract.notifications.get, async ({ db, actor, kernel }, { params }) => {
  const [row] = await findNotifications(db, [params.id]);
  if (row?.account_id !== actor.accountId) throw notFound('notification');
  return { notification: toRecord(kernel.config, row) };
});
