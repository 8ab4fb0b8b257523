import { contract } from '@svc/contract';
import { pageOf } from '../../kernel/db/paging.ts';
import { operation } from '../../kernel/feature.ts';
import { listConnections } from './connections.sql.ts';
import { toRecords } from './connections.view.ts';

export const list = operation(contract.connections.list, async ({ db, actor }, { query }) => {
  const { rows, next } = pageOf(await listConnections(db, actor.accountId, query), query.limit);
  return { connections: await toRecords(db, rows), ...next };
});
