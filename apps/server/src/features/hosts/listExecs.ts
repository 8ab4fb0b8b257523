import { contract } from '@svc/contract';
import { pageOf } from '../../kernel/db/paging.ts';
import { operation } from '../../kernel/feature.ts';
import { listExecs as list } from './execs/execs.sql.ts';
import { readerOf, viewExec } from './execs/view.ts';

export const listExecs = operation(contract.hosts.listExecs, async ({ db, actor }, { query }) => {
  const { device_id: deviceId, state } = query;
  const { rows, next } = pageOf(await list(db, readerOf(actor), query, { deviceId, state }), query.limit);
  return { execs: rows.map((row) => viewExec(row)), ...next };
});
