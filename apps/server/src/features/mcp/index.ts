import type { RefusedMethods } from '../../kernel/mount/methods.ts';

/** The answer by which clients know that the server has no stream of its own, and no session to end (Streamable HTTP of 2025). */
export const withoutStreams: RefusedMethods = {
  url: '/mcp',
  allow: 'POST',
  methods: ['GET', 'HEAD', 'DELETE'],
  body: {
    jsonrpc: '2.0',
    error: { code: -32_000, message: 'Method not allowed: messages of the protocol are sent with POST' },
    id: null,
  },
};
