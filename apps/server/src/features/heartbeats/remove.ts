import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { noteChangesGone } from '../../kernel/records/app-changes.ts';
import { noteGone } from '../../kernel/records/let-in.ts';
import { operation } from '../../kernel/feature.ts';
import { resolveNotifications } from '../notifications/index.ts';
import { downCause } from './heartbeats.alert.ts';
import { topic } from './heartbeats.changes.ts';
import { deleteMonitor } from './heartbeats.sql.ts';

export const remove = operation(contract.heartbeats.remove, async (context, { params: { id } }) => {
  const { kernel, actor } = context;
  const { accountId } = actor;
  await context.transaction(async (tx) => {
    if (!(await deleteMonitor(tx, accountId, id))) throw notFound('heartbeat');
    await noteGone(tx, ['badge'], id);
    await noteChangesGone(tx, ['ping_url', 'mute', 'pause', 'monitor_times'], id);
    await kernel.feed.record(tx, [{ accountId, topic, op: 'deleted', id }]);
    await resolveNotifications(kernel, tx, [{ accountId, cause: downCause(id), resolution: 'removed' }]);
  });
  return { deleted: true as const, id };
});
