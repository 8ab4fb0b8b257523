import { contract } from '@svc/contract';
import { Answer, operation } from '../../kernel/feature.ts';
import { type Nodes, toApiFailure } from './sandboxes.nodes.ts';
import { runningSandbox } from './sandboxes.running.ts';

/** The bytes of a file of the workspace, as an attachment. */
export const readFile = (nodes: Nodes) =>
  operation(contract.sandboxes.readFile, async (context, { params: { id, path } }) => {
    const { node, audit } = await runningSandbox(context, nodes, id);
    try {
      await audit('read_file', { path });
      const { bytes, body } = await node.readFile(id, path);
      return new Answer(body, {
        headers: {
          'content-type': 'application/octet-stream',
          'content-length': String(bytes),
          'content-disposition': 'attachment',
          'x-content-type-options': 'nosniff',
          'cache-control': 'no-store',
        },
      });
    } catch (error) {
      throw toApiFailure(error, 'file');
    }
  });
