import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { runCommand } from './nodes/commands.ts';
import type { Nodes } from './nodes/nodes.ts';

export const exec = (nodes: Nodes) =>
  operation(
    contract.sandboxes.exec,
    async (context, { params, body }) => (await runCommand(context, nodes, params.id, body)).result,
  );
