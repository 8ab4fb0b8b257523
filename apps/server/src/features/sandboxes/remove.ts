import { contract } from '@svc/contract';
import { notFound } from '../../kernel/http/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { moveSandbox, sandboxMoves } from './sandboxes.moves.ts';
import type { Nodes } from './sandboxes.nodes.ts';
import { findSandbox } from './sandboxes.sql.ts';
import { toRecord } from './sandboxes.view.ts';

/** The row first: a node that is away drops what no row stands for when it is back. */
export const remove = (nodes: Nodes) =>
  operation(contract.sandboxes.remove, async ({ kernel, db, actor, by, log }, { params }) => {
    const found = await findSandbox(db, actor.accountId, params.id);
    if (!found) throw notFound('sandbox');
    const ended = await moveSandbox(kernel, params.id, 'destroy', { by });
    if (ended) {
      const node = nodes.all().find(({ id }) => id === ended.node_id);
      await node?.client.destroy(params.id).catch((err: unknown) => log.warn({ err }, 'a sandbox is removed later'));
    }
    return toRecord(ended ?? { ...found, state: sandboxMoves.destroy.to });
  });
