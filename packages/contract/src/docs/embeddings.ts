import type { embeddings } from '../embeddings.ts';
import type { Docs } from './docs.ts';

/** Descriptions and examples of the route of embeddings. */
export const embeddingsDocs = {
  create: {
    description: 'Lanes of OpenAI’s protocol only; the request goes to them as it is.',
    example: {
      body: { model: 'svc-embed', input: 'Hello.' },
      response: { model: 'vectors-1', data: [{ object: 'embedding', index: 0, embedding: [0.1, -0.2] }] },
    },
  },
} satisfies Docs<typeof embeddings>;
