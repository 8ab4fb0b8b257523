import type { Kernel } from '../../kernel/kernel.ts';
import type { Feature } from '../../kernel/feature.ts';
import { call } from './call.ts';
import { Cancellations } from './mcp.cancel.ts';
import { createHandler } from './mcp.server.ts';
import { promptTools, sandboxTools, type ToolParts } from './mcp.tools.ts';

/** The Model Context Protocol. */
export function mcpFeature(kernel: Kernel, parts: ToolParts): Feature {
  const handler = createHandler([...sandboxTools(parts), ...promptTools(parts)], kernel.log);
  const cancellations = new Cancellations(kernel);
  return {
    name: 'mcp',
    operations: { call: call(handler, cancellations) },
    async start(_kernel, { serves }) {
      if (serves) await cancellations.start();
      return { stop: () => handler.close() };
    },
  };
}
