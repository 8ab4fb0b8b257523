import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { createSandbox } from './sandboxes.create.ts';
import type { Nodes } from './nodes/nodes.ts';
import { show } from './shown/show.ts';

export const create = (nodes: Nodes) =>
  operation(contract.sandboxes.create, async (context, { body }) => {
    const { backend, template, egress, metadata, ttl_seconds: ttlSeconds } = body;
    const row = await createSandbox(context, nodes, { backend, template, egress, metadata, ttlSeconds });
    return show(context.kernel, row);
  });
