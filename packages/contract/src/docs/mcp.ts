import type { mcp } from '../mcp.ts';
import type { Docs } from './docs.ts';

/** Descriptions and examples of the route of the Model Context Protocol. */
export const mcpDocs = {
  call: {
    description:
      'For clients of the protocol, with an API key as its bearer; each message is answered by itself, and no session is ' +
      'kept. Faults of the protocol come as JSON-RPC; a tool that fails says so in its result.',
    example: {
      body: {
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: {
          protocolVersion: '2025-06-18',
          capabilities: {},
          clientInfo: { name: 'my-agent', version: '1.0.0' },
        },
      },
      response: {
        jsonrpc: '2.0',
        id: 1,
        result: {
          protocolVersion: '2025-06-18',
          capabilities: { tools: { listChanged: false } },
          serverInfo: { name: 'svc', title: 'svc', version: '1' },
          instructions: 'Tools run code in isolated sandboxes of the caller.',
        },
      },
    },
  },
} satisfies Docs<typeof mcp>;
