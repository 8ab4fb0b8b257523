import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { toApiFailure } from './nodes/failures.ts';
import type { Nodes } from './nodes/nodes.ts';
import { runningSandbox } from './sandboxes.running.ts';

export const resetKernel = (nodes: Nodes) =>
  operation(contract.sandboxes.resetKernel, async (context, { params }) => {
    const { node, audit } = await runningSandbox(context, nodes, params.id);
    try {
      await node.resetKernel(params.id);
    } catch (error) {
      throw toApiFailure(error);
    }
    await audit('kernel_reset');
    return { id: params.id, reset: true as const };
  });
