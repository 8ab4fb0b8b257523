import { contract } from '@svc/contract';
import { pageOf } from '../../kernel/db/paging.ts';
import { operation } from '../../kernel/feature.ts';
import { listProjects } from './projects.sql.ts';
import { toProject } from './projects.view.ts';

export const list = operation(contract.projects.list, async (context, { query }) => {
  const { rows, next } = pageOf(await listProjects(context.db, context.actor.accountId, query), query.limit);
  return { projects: rows.map(toProject), ...next };
});
