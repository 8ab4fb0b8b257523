import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { notFound } from '../../kernel/base/errors.ts';
import type { Nodes } from './nodes/nodes.ts';
import { findSandbox } from './sandboxes.sql.ts';
import { show } from './shown/show.ts';

export const get = (nodes: Nodes) =>
  operation(contract.sandboxes.get, async ({ db, actor, kernel }, { params }) => {
    const row = await findSandbox(db, actor.accountId, params.id);
    if (!row) throw notFound('sandbox');
    return show(kernel, row, (one) => nodes.endedAfterResume(one));
  });
