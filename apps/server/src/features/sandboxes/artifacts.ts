import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { collect } from '../artifacts/index.ts';
import { type Nodes, toApiFailure } from './sandboxes.nodes.ts';
import { outputsOf, runningSandbox } from './sandboxes.running.ts';

/** Collects what the sandbox hands out, and answers each file with a signed link. */
export const artifacts = (nodes: Nodes) =>
  operation(contract.sandboxes.artifacts, async (context, { params }) => {
    const running = await runningSandbox(context, nodes, params.id);
    try {
      const { by } = context;
      const { accountId } = context.actor;
      const { source, paths } = await outputsOf(context.kernel, running.node, { id: params.id, accountId, by });
      return { data: await collect(context.kernel, source, paths) };
    } catch (error) {
      throw toApiFailure(error, 'file');
    }
  });
