import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { type Nodes, toApiFailure } from './sandboxes.nodes.ts';
import { runningSandbox } from './sandboxes.running.ts';

/** One level of a directory of the workspace. */
export const listFiles = (nodes: Nodes) =>
  operation(contract.sandboxes.listFiles, async (context, { params, query }) => {
    const { node } = await runningSandbox(context, nodes, params.id);
    try {
      return { entries: await node.listFiles(params.id, query.path) };
    } catch (error) {
      throw toApiFailure(error, 'directory');
    }
  });
