import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { collect } from '../artifacts/index.ts';
import { toApiFailure } from './nodes/failures.ts';
import type { Nodes } from './nodes/nodes.ts';
import { type Mover, outputsOf, runningSandbox } from './sandboxes.running.ts';

/** Collects what the sandbox hands out, and answers each file with a signed link. */
export const artifacts = (nodes: Nodes) =>
  operation(contract.sandboxes.artifacts, async (context, { params }) => ({
    data: await collectFrom(context, nodes, params.id),
  }));

/** Collects every file that a sandbox hands out. */
export async function collectFrom(caller: Mover, nodes: Nodes, id: string) {
  const { kernel, actor, by } = caller;
  const running = await runningSandbox(caller, nodes, id);
  try {
    const { source, paths } = await outputsOf(kernel, running.node, { id, accountId: actor.accountId, by });
    return await collect(kernel, source, paths);
  } catch (error) {
    throw toApiFailure(error, 'file');
  }
}
