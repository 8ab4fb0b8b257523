import { contract, sandboxStates } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import type { Nodes } from './nodes/nodes.ts';
import { listSandboxes } from './sandboxes.list.sql.ts';
import { statesShownAs } from './sandboxes.view.ts';
import { showAll } from './shown/show.ts';

export const list = (nodes: Nodes) =>
  operation(contract.sandboxes.list, async ({ db, actor, kernel }, { query }) => {
    const statuses =
      query.status === undefined ? sandboxStates.filter((status) => status !== 'destroyed') : [query.status];
    const { limit, cursor: after } = query;
    const states = statuses.flatMap(statesShownAs);
    const rows = await listSandboxes(db, actor.accountId, { states, after, limit: limit + 1 });
    const page = rows.slice(0, limit);
    const last = rows.length > limit ? page.at(-1) : undefined;
    return {
      object: 'list' as const,
      data: await showAll(kernel, page, (row) => nodes.endedAfterResume(row)),
      ...(last && { next_cursor: last.place }),
    };
  });
