import { contract } from '@svc/contract';
import { framesOperation } from '../../kernel/feature.ts';
import { framesOf, runCommand } from './sandboxes.command.ts';
import type { Nodes } from './sandboxes.nodes.ts';

export const exec = (nodes: Nodes) =>
  framesOperation(
    contract.sandboxes.exec,
    async (context, { params, body }) => {
      const { result } = await runCommand(context, nodes, params.id, body);
      const { stdout: _, stderr: __, ...exit } = result;
      await context.frames?.send({ type: 'exit', ...exit });
      return result;
    },
    framesOf,
  );
