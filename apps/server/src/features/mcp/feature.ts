import type { McpHttpHandler } from '@modelcontextprotocol/server';
import type { Kernel } from '../../kernel/kernel.ts';
import type { Feature } from '../../kernel/feature.ts';
import { call } from './call.ts';
import { Cancellations } from './mcp.cancel.ts';
import { transcriptTools } from './mcp.transcripts.ts';
import { environmentTools, promptTools, sandboxTools, type McpParts, type Tool } from './mcp.tools.ts';

/** The Model Context Protocol. */
export function mcpFeature(kernel: Kernel, parts: McpParts): Feature {
  let opened: Promise<McpHttpHandler> | undefined;
  const tools = [sandboxTools, promptTools, transcriptTools, environmentTools].flatMap((of) => of(parts));
  // The protocol is 1 MB of code: a gateway that nobody asks for it does not load it.
  const handler = () => (opened ??= open(kernel, tools));
  const cancellations = new Cancellations(kernel);
  return {
    name: 'mcp',
    operations: { call: call(handler, cancellations, (name, input) => scopesOfTool(tools, name, input)) },
    async start(_kernel, { serves }) {
      if (serves) await cancellations.start();
      return { stop: async () => (await opened)?.close() };
    },
  };
}

function scopesOfTool(
  tools: readonly Tool[],
  name: string,
  input: Record<string, unknown>,
): readonly string[] | undefined {
  const scopes = tools.find((tool) => tool.name === name)?.scopes;
  return typeof scopes === 'function' ? scopes(input) : scopes;
}

async function open(kernel: Kernel, tools: readonly Tool[]): Promise<McpHttpHandler> {
  const { createHandler } = await import('./mcp.server.ts');
  return createHandler(tools, kernel.log);
}
