import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { type Sandboxes, toApiFailure } from '../sandboxes/index.ts';

export const listFiles = (sandboxes: Sandboxes) =>
  operation(contract.workspaces.listFiles, async (context, { params, query }) => {
    const { node } = await sandboxes.running(context, params.id);
    try {
      return { entries: await node.listFiles(params.id, query.path) };
    } catch (error) {
      throw toApiFailure(error, 'directory');
    }
  });
