import {
  createMcpHandler,
  type McpHttpHandler,
  ProtocolError,
  ProtocolErrorCode,
  Server,
} from '@modelcontextprotocol/server';
import { withoutNulls, wordsFor } from '@svc/contract';
import type { Context } from '../../kernel/http/context.ts';
import { addFieldErrors, ApiError, badRequest, toApiError } from '../../kernel/base/errors.ts';
import type { Log } from '../../kernel/base/log.ts';
import { textOf } from './mcp.answers.ts';
import { listed } from './mcp.schemas.ts';
import type { Tool } from './mcp.tools.ts';

const instructions =
  'Tools run code in isolated sandboxes of the caller, and read the prompts and recorded meetings of the account.';

/** The data that the protocol's handler carries for us. */
interface Carried {
  extra?: { context?: Context };
}

/**
 * Serves both revisions of the protocol: a fresh server for each request, and nothing kept between them. The list of tools
 * is written once: it costs 3 ms, and never changes, so that nothing can be subscribed to. What a tool answers is data:
 * nothing in it changes what this does.
 */
export function createHandler(tools: readonly Tool[], log: Log): McpHttpHandler {
  const list = { tools: tools.map(listed) };
  // No token of an app reads what was said in meetings.
  const forTokens = { tools: tools.filter(({ scopes }) => scopes !== undefined).map(listed) };
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  return createMcpHandler(
    ({ authInfo }) => {
      const { context } = (authInfo as Carried | undefined)?.extra ?? {};
      const info = { name: 'svc', title: 'svc', version: '1' };
      const server = new Server(info, { instructions, capabilities: { tools: {} } });
      server.setRequestHandler('tools/list', () => (context?.actor.kind === 'token' ? forTokens : list));
      server.setRequestHandler('tools/call', ({ params: { name, arguments: given = {} } }) => {
        const tool = byName.get(name);
        if (!tool) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Tool ${name.slice(0, 120)} not found`);
        return runTool(tool, context as Context, given);
      });
      return server;
    },
    { onerror: (err) => log.debug({ err }, 'a message of MCP was refused') },
  );
}

async function runTool(tool: Tool, context: Context, given: unknown) {
  try {
    if (tool.scopes === undefined && context.actor.kind === 'token') throw tokenRefused();
    const answer = await tool.run(context, inputOf(tool, given));
    return { content: typeof answer === 'string' ? textOf(answer) : answer };
  } catch (error) {
    const failure = toApiError(error);
    if (failure !== error) context.log.error({ err: error, trace: context.traceId, tool: tool.name }, 'a tool failed');
    const { code, message, details } = failure;
    const text = JSON.stringify({ code, message, ...(details && { details }) });
    return { content: [{ type: 'text' as const, text }], isError: true };
  }
}

const tokenRefused = (): ApiError =>
  new ApiError('forbidden', 'recorded meetings are read with an API key: no access token is taken');

/** Throws 400 with the faults of each argument. */
function inputOf(tool: Tool, given: unknown): Record<string, unknown> {
  const parsed = tool.input.safeParse(withoutNulls(tool.input, given), { error: wordsFor });
  if (parsed.success) return parsed.data;
  const fieldErrors: Record<string, string[]> = {};
  addFieldErrors(fieldErrors, parsed.error.issues);
  const [field, messages] = Object.entries(fieldErrors)[0] ?? ['arguments', ['are invalid']];
  throw badRequest(`${field}: ${messages?.[0] ?? 'is invalid'}`, fieldErrors);
}
