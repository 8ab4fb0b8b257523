import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { inSandbox } from './sandboxes.command.ts';
import type { Nodes } from './sandboxes.nodes.ts';

export const runCode = (nodes: Nodes) =>
  operation(contract.sandboxes.runCode, async (context, { params, body }) => {
    const { code, timeout_seconds } = body;
    const request = { code, timeout_ms: timeout_seconds * 1000 };
    const done = await inSandbox(context, nodes, params.id, {
      action: 'run_code',
      asked: { bytes: Buffer.byteLength(code) },
      async run(node, _, began) {
        began();
        const value = await node.runCode(params.id, request, context.signal);
        const { duration_ms: execMs, execution_count, kernel_restarted } = value;
        return { value, execMs, detail: { duration_ms: execMs, execution_count, kernel_restarted } };
      },
    });
    return done.value;
  });
