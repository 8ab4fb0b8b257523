import type { tokens } from '../tokens.ts';
import type { Docs } from './docs.ts';

/** Descriptions and examples of the route of tokens. */
export const tokensDocs = {
  create: {
    description:
      'For a browser or a phone, in place of the key: `Authorization: Bearer` with the token on routes of its scope, and ' +
      'on no other. A key that is paused or revoked takes its tokens with it.',
    example: {
      body: { scope: 'audio', ttl: 300 },
      response: { token: 'svct_EXAMPLE', scope: 'audio', expires_at: '2026-11-02T09:05:00.000Z' },
    },
  },
} satisfies Docs<typeof tokens>;
