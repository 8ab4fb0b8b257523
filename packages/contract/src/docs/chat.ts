import type { chat } from '../chat.ts';
import type { Docs } from './docs.ts';
import { lanes } from './inference.ts';

/** Descriptions and examples of the route of chat completions. */
export const chatDocs = {
  completions: {
    description: lanes,
    example: {
      headers: { 'x-svc-session-id': 'report-7' },
      body: { model: 'svc', messages: [{ role: 'user', content: 'Say hello.' }] },
      response: {
        id: 'chatcmpl-1',
        model: 'small-1',
        choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 },
      },
    },
  },
} satisfies Docs<typeof chat>;
