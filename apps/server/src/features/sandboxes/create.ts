import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { createSandbox } from './sandboxes.create.ts';
import type { Nodes } from './sandboxes.nodes.ts';
import { toRecord } from './sandboxes.view.ts';

export const create = (nodes: Nodes) =>
  operation(contract.sandboxes.create, async ({ kernel, actor }, { body }) => {
    const { backend, template, egress, metadata, ttl_seconds: ttlSeconds } = body;
    return toRecord(await createSandbox(kernel, nodes, actor, { backend, template, egress, metadata, ttlSeconds }));
  });
