import { contract, sandboxStates } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { listSandboxes } from './sandboxes.sql.ts';
import { statesShownAs, toRecord } from './sandboxes.view.ts';

const mostListed = 200;

export const list = operation(contract.sandboxes.list, async ({ db, actor }, { query }) => {
  const statuses =
    query.status === undefined ? sandboxStates.filter((status) => status !== 'destroyed') : [query.status];
  const rows = await listSandboxes(db, actor.accountId, statuses.flatMap(statesShownAs), mostListed);
  return { object: 'list' as const, data: rows.map(toRecord) };
});
