import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { runCommand } from './sandboxes.command.ts';
import type { Nodes } from './sandboxes.nodes.ts';

export const exec = (nodes: Nodes) =>
  operation(
    contract.sandboxes.exec,
    async (context, { params, body }) => (await runCommand(context, nodes, params.id, body)).result,
  );
