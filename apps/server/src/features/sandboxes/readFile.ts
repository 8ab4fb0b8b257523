import { contract } from '@svc/contract';
import { Answer, operation } from '../../kernel/feature.ts';
import { attachment } from '../artifacts/index.ts';
import { toApiFailure } from './nodes/failures.ts';
import type { Nodes } from './nodes/nodes.ts';
import { type Mover, runningSandbox } from './sandboxes.running.ts';

/** The bytes of a file of the workspace, as an attachment. */
export const readFile = (nodes: Nodes) =>
  operation(contract.sandboxes.readFile, async (context, { params }) => {
    const { bytes, body } = await openFile(context, nodes, params);
    return new Answer(body, {
      headers: {
        'content-type': 'application/octet-stream',
        'content-length': String(bytes),
        'content-disposition': attachment(params.path),
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-store',
      },
    });
  });

/** A file of the workspace, to be read. */
export async function openFile(context: Mover, nodes: Nodes, { id, path }: { id: string; path: string }) {
  const { node, audit } = await runningSandbox(context, nodes, id);
  try {
    await audit('read_file', { path });
    return await node.readFile(id, path);
  } catch (error) {
    throw toApiFailure(error, 'file');
  }
}
