import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { notFound } from '../../kernel/base/errors.ts';
import { moveSandbox, sandboxes } from './sandboxes.moves.ts';
import type { Nodes } from './nodes/nodes.ts';
import type { Mover } from './sandboxes.running.ts';
import { findSandbox } from './sandboxes.sql.ts';
import { show } from './shown/show.ts';

export const remove = (nodes: Nodes) =>
  operation(contract.sandboxes.remove, (context, { params }) => destroy(context, nodes, params.id));

/** Destroys a sandbox. The row first: a node that is away drops what is over when it is back. */
export async function destroy({ kernel, actor, by }: Mover, nodes: Nodes, id: string) {
  const { sql, log } = kernel;
  const found = await findSandbox(sql, actor.accountId, id);
  if (!found) throw notFound('sandbox');
  const ended = await moveSandbox(kernel, id, 'destroy', { by });
  if (ended) {
    const node = nodes.all().find((one) => one.id === ended.node_id);
    await node?.client.destroy(id).catch((err: unknown) => log.warn({ err }, 'a sandbox is removed later'));
  }
  return show(kernel, ended ?? { ...found, state: sandboxes.moves.destroy.outcomes[0].to });
}
