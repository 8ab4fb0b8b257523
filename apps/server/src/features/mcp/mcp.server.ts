import { createMcpHandler, type McpHttpHandler, McpServer } from '@modelcontextprotocol/server';
import type { Context } from '../../kernel/http/context.ts';
import { toApiError } from '../../kernel/http/errors.ts';
import type { Log } from '../../kernel/log.ts';
import type { Tool } from './mcp.tools.ts';

const instructions = 'Tools run code in isolated sandboxes of the caller.';

/** What the protocol's handler carries for us. */
interface Carried {
  extra?: { context?: Context };
}

/**
 * Serves both revisions of the protocol: a fresh server for each message, and nothing kept between them. What a tool
 * answers is data: nothing in it changes what this does.
 */
export const createHandler = (tools: readonly Tool[], log: Log): McpHttpHandler =>
  createMcpHandler(
    ({ authInfo }) => {
      const { context } = (authInfo as Carried | undefined)?.extra ?? {};
      const server = new McpServer({ name: 'svc', title: 'svc', version: '1' }, { instructions });
      for (const tool of tools) {
        const { description, input: inputSchema, hints } = tool;
        const annotations = { ...hints, openWorldHint: false };
        server.registerTool(tool.name, { description, inputSchema, annotations }, (input) =>
          runTool(tool, context as Context, input),
        );
      }
      return server;
    },
    { onerror: (err) => log.debug({ err }, 'a message of MCP was refused') },
  );

async function runTool(tool: Tool, context: Context, input: Record<string, unknown>) {
  try {
    const { text, data } = await tool.run(context, input);
    return { content: [{ type: 'text' as const, text }], structuredContent: data };
  } catch (error) {
    const failure = toApiError(error);
    if (failure !== error) context.log.error({ err: error, trace: context.traceId, tool: tool.name }, 'a tool failed');
    const { code, message, details } = failure;
    const text = JSON.stringify({ code, message, ...(details && { details }) });
    return { content: [{ type: 'text' as const, text }], isError: true };
  }
}
