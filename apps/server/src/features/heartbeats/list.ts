import { contract } from '@svc/contract';
import { pageOf } from '../../kernel/db/paging.ts';
import { operation } from '../../kernel/feature.ts';
import { listMonitors } from './heartbeats.sql.ts';
import { toRecord } from './heartbeats.view.ts';

export const list = operation(contract.heartbeats.list, async ({ db, clock, actor }, { query }) => {
  const { rows, next } = pageOf(await listMonitors(db, clock, actor.accountId, query), query.limit);
  return { heartbeats: rows.map((row) => toRecord(row)), ...next };
});
