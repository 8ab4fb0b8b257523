import { contract } from '@svc/contract';
import { framesOperation } from '../../kernel/feature.ts';
import { framesOf, runCommand } from './sandboxes.command.ts';
import type { Nodes } from './sandboxes.nodes.ts';

export const exec = (nodes: Nodes) =>
  framesOperation(
    contract.sandboxes.exec,
    async (context, { params, body }) => (await runCommand(context, nodes, params.id, body)).result,
    framesOf,
  );
