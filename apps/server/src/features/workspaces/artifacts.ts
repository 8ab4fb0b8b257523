import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { collect } from '../artifacts/index.ts';
import { type Sandboxes, toApiFailure } from '../sandboxes/index.ts';

export const artifacts = (sandboxes: Sandboxes) =>
  operation(contract.workspaces.artifacts, async (context, { params }) => {
    const running = await sandboxes.running(context, params.id);
    try {
      const { source, paths } = await sandboxes.outputsOf(running, context.actor);
      return { data: await collect(context.kernel, source, paths) };
    } catch (error) {
      throw toApiFailure(error, 'file');
    }
  });
