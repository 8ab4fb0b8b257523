import { contract } from '@svc/contract';
import { pageOf } from '../../kernel/db/paging.ts';
import { operation } from '../../kernel/feature.ts';
import { listDevices } from './devices.sql.ts';

export const list = operation(contract.devices.list, async ({ db, actor }, { query }) => {
  const { rows, next } = pageOf(await listDevices(db, actor.accountId, query), query.limit);
  return { devices: rows, ...next };
});
