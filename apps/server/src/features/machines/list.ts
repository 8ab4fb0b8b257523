import { contract } from '@svc/contract';
import { pageOf } from '../../kernel/db/paging.ts';
import { operation } from '../../kernel/feature.ts';
import { listMachines } from './machines.sql.ts';
import { toMachine } from './machines.view.ts';

export const list = operation(contract.machines.list, async ({ db, clock, actor }, { query }) => {
  const { online, ...rest } = query;
  const wanted = { ...rest, ...(online !== undefined && { online: online === 'true' }) };
  const { rows, next } = pageOf(await listMachines(db, clock, actor.accountId, wanted), query.limit);
  return { machines: rows.map(toMachine), ...next };
});
