import { contract, sandboxStates } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import type { Nodes } from './sandboxes.nodes.ts';
import { listSandboxes } from './sandboxes.sql.ts';
import { statesShownAs, toRecord } from './sandboxes.view.ts';

const mostListed = 200;

export const list = (nodes: Nodes) =>
  operation(contract.sandboxes.list, async ({ db, actor, clock }, { query }) => {
    const statuses =
      query.status === undefined ? sandboxStates.filter((status) => status !== 'destroyed') : [query.status];
    const rows = await listSandboxes(db, actor.accountId, statuses.flatMap(statesShownAs), mostListed);
    const now = clock.now();
    return { object: 'list' as const, data: rows.map((row) => toRecord(row, now, nodes.endedAfterResume(row))) };
  });
