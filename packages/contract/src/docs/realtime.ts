import type { realtime } from '../realtime.ts';
import type { Docs } from './docs.ts';

/** Descriptions and examples of the route of realtime. */
export const realtimeDocs = {
  connect: {
    description:
      'Messages go both ways as they are, to the first lane of the kind `openai` that answers; each `response.done` is billed by its ' +
      'usage. A browser names a token of `POST /v1/tokens` as the protocol `openai-insecure-api-key.<token>` beside `realtime`.',
    example: { query: { model: 'svc' }, response: undefined },
  },
} satisfies Docs<typeof realtime>;
