import { contract } from '@svc/contract';
import { Download, downloadOperation } from '../../kernel/feature.ts';
import { type Sandboxes, toApiFailure } from '../sandboxes/index.ts';

export const readFile = (sandboxes: Sandboxes) =>
  downloadOperation(contract.workspaces.readFile, async (context, { params: { id, path } }) => {
    const { node, audit } = await sandboxes.running(context, id);
    try {
      await audit('read_file', { path });
      const { bytes, body } = await node.readFile(id, path);
      return new Download(body, {
        'content-type': 'application/octet-stream',
        'content-length': String(bytes),
        'content-disposition': 'attachment',
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-store',
      });
    } catch (error) {
      throw toApiFailure(error, 'file');
    }
  });
