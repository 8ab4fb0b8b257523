import type { responses } from '../responses.ts';
import type { Docs } from './docs.ts';
import { lanes } from './inference.ts';

/** Descriptions and examples of the route of responses. */
export const responsesDocs = {
  create: {
    description: `What a provider keeps, such as \`previous_response_id\`, needs a lane of this protocol. ${lanes}`,
    example: {
      body: { model: 'thinker-1', input: 'Say hello.' },
      response: {
        id: 'resp_1',
        status: 'completed',
        model: 'small-1',
        output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hello.' }] }],
      },
    },
  },
} satisfies Docs<typeof responses>;
