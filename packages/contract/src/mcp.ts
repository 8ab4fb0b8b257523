import { z } from 'zod';
import { json, relayed, route } from './route.ts';

const message = z.unknown().describe('A message of JSON-RPC, or in the revision of 2025 a list of them');

/** The Model Context Protocol over Streamable HTTP (document 3, Chat tool and skills; design: inference, MCP). */
export const mcp = {
  call: route({
    method: 'POST',
    path: '/mcp',
    summary: 'A message of the Model Context Protocol',
    auth: 'key',
    accessTokens: 'mcp',
    refusesLogins: true,
    notIdempotent: 'its messages have ids of their protocol',
    takes: json(message),
    answers: relayed(z.looseObject({ jsonrpc: z.string() }).meta({ id: 'McpMessage' })),
  }),
};
