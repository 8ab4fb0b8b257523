import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { type Caller, inSandbox } from './nodes/commands.ts';
import type { Nodes } from './nodes/nodes.ts';

export const runCode = (nodes: Nodes) =>
  operation(contract.sandboxes.runCode, (context, { params, body }) =>
    runCell(context, nodes, params.id, { code: body.code, timeoutSeconds: body.timeout_seconds }),
  );

/** Runs Python in the kernel of a sandbox. */
export async function runCell(
  caller: Caller,
  nodes: Nodes,
  id: string,
  { code, timeoutSeconds }: { code: string; timeoutSeconds: number },
) {
  const request = { code, timeout_ms: timeoutSeconds * 1000 };
  const done = await inSandbox(caller, nodes, id, {
    action: 'run_code',
    asked: { bytes: Buffer.byteLength(code) },
    async run(node, _, { began, signal }) {
      began();
      const { changed = true, truncated = [], ...rest } = await node.runCode(id, request, signal);
      const value = { ...rest, truncated };
      const { duration_ms: execMs, execution_count, kernel_restarted } = value;
      return { value, execMs, changed, detail: { duration_ms: execMs, execution_count, kernel_restarted } };
    },
  });
  return done.value;
}
