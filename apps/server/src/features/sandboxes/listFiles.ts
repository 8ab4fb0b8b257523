import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { toApiFailure } from './nodes/failures.ts';
import type { Nodes } from './nodes/nodes.ts';
import { type Mover, runningSandbox } from './sandboxes.running.ts';

/** One level of a directory of the workspace. */
export const listFiles = (nodes: Nodes) =>
  operation(contract.sandboxes.listFiles, async (context, { params, query }) => ({
    entries: await entriesOf(context, nodes, { id: params.id, path: query.path }),
  }));

/** The entries of a directory of the workspace. */
export async function entriesOf(caller: Mover, nodes: Nodes, { id, path }: { id: string; path: string }) {
  const { node } = await runningSandbox(caller, nodes, id);
  try {
    return await node.listFiles(id, path);
  } catch (error) {
    throw toApiFailure(error, 'directory');
  }
}
