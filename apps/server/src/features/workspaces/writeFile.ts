import { contract } from '@svc/contract';
import { badRequest } from '../../kernel/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { type Sandboxes, toApiFailure } from '../sandboxes/index.ts';

export const writeFile = (sandboxes: Sandboxes) =>
  operation(contract.workspaces.writeFile, async (context, { params: { id, path } }) => {
    if (path === '') throw badRequest('path: is required', { path: ['is required'] });
    const { node, audit } = await sandboxes.running(context, id);
    try {
      await audit('write_file', { path });
      const written = await node.writeFile(id, path, context.upload);
      await audit('write_file_end', written);
      return { ...written, generation: await sandboxes.nextGeneration(id) };
    } catch (error) {
      throw toApiFailure(error, 'file');
    }
  });
