import { contract } from '@svc/contract';
import { badRequest } from '../../kernel/http/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { type Nodes, toApiFailure } from './sandboxes.nodes.ts';
import { runningSandbox } from './sandboxes.running.ts';
import { nextGeneration } from './sandboxes.sql.ts';

/** Writes a file of the workspace, whole or not at all. */
export const writeFile = (nodes: Nodes) =>
  operation(contract.sandboxes.writeFile, async (context, { params: { id, path } }) => {
    if (path === '') throw badRequest('path: is required', { path: ['is required'] });
    const { node, audit } = await runningSandbox(context, nodes, id);
    try {
      await audit('write_file', { path });
      const written = await node.writeFile(id, path, context.upload);
      await audit('write_file_end', written);
      return { ...written, generation: await nextGeneration(context.db, id) };
    } catch (error) {
      throw toApiFailure(error, 'file');
    }
  });
