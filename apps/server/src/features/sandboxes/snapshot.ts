import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { ApiError } from '../../kernel/base/errors.ts';
import { type ArtifactSource, collectOne } from '../artifacts/index.ts';
import { toApiFailure } from './nodes/failures.ts';
import type { Nodes } from './nodes/nodes.ts';
import { runningSandbox } from './sandboxes.running.ts';

/** Packs the workspace of a v1 sandbox into a stored archive. */
export const snapshot = (nodes: Nodes) =>
  operation(contract.sandboxes.snapshot, async ({ kernel, actor, by }, { params: { id }, body: { name } }) => {
    const { row, node, audit } = await runningSandbox({ kernel, actor, by }, nodes, id);
    if (row.backend === 'v2') {
      throw new ApiError('not_supported_on_v2', 'a v2 sandbox keeps its workspace by pause; snapshot needs v1');
    }
    try {
      const source: ArtifactSource = {
        accountId: actor.accountId,
        sandboxId: id,
        open: () => node.archive(id),
        scan: async (body) => (await node.scan(body)).verdict,
      };
      const stored = await collectOne(kernel, source, 'workspace.tar');
      const { bytes, sha256, scan, url, expires_at } = stored;
      await audit('snapshot', { name, bytes, sha256 });
      return {
        object: 'snapshot' as const,
        id: stored.id,
        ...(name !== undefined && { name }),
        bytes,
        sha256,
        scan,
        ...(url !== undefined && { url }),
        expires_at,
      };
    } catch (error) {
      throw toApiFailure(error);
    }
  });
