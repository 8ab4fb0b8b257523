import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { deleteMonitor } from './heartbeats.sql.ts';

export const remove = operation(contract.heartbeats.remove, async ({ db, actor }, { params }) => {
  if (!(await deleteMonitor(db, actor.accountId, params.id))) throw notFound('heartbeat');
  return { deleted: true as const, id: params.id };
});
