import { contract } from '@svc/contract';
import { pageOf } from '../../kernel/db/paging.ts';
import { operation } from '../../kernel/feature.ts';
import { listSeen } from './environments.sql.ts';
import { toEnvironment } from './environments.view.ts';

export const list = operation(contract.environments.list, async (context, { query }) => {
  const { accountId } = context.actor;
  const filter = { projectId: query.project_id, isForOwn: query.for_user_id === 'me' };
  const { rows, next } = pageOf(await listSeen(context.db, accountId, filter, query), query.limit);
  return { environments: rows.map(toEnvironment), ...next };
});
