import type { messages } from '../messages.ts';
import type { Docs } from './docs.ts';
import { lanes } from './inference.ts';

/** Descriptions and examples of the route of messages. */
export const messagesDocs = {
  create: {
    description: `The key may stand in \`x-api-key\`. ${lanes}`,
    example: {
      headers: { 'x-svc-session-id': 'report-7' },
      body: { model: 'writer-1', max_tokens: 256, messages: [{ role: 'user', content: 'Say hello.' }] },
      response: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'small-1',
        content: [{ type: 'text', text: 'Hello.' }],
        stop_reason: 'end_turn',
      },
    },
  },
  countTokens: {
    description:
      'Asked of the lanes of the model that speak this protocol. Where none counts it is a guess of four bytes a token, and the answer has the header `x-svc-estimated: true`. It costs nothing.',
    example: {
      body: { model: 'writer-1', messages: [{ role: 'user', content: 'Say hello.' }] },
      response: { input_tokens: 10 },
    },
  },
} satisfies Docs<typeof messages>;
