import type { audio } from '../audio.ts';
import type { Docs } from './docs.ts';

const formDescription =
  'A form of at most 25 MiB; its other fields reach the lane as they are, and the answer comes back in the format that ' +
  'they ask for. Lanes of the kind `openai` are asked, in their order.';
const form = [
  '--EXAMPLE\r\ncontent-disposition: form-data; name="model"\r\n\r\nears-1',
  '--EXAMPLE\r\ncontent-disposition: form-data; name="file"; filename="a.wav"\r\ncontent-type: audio/wav\r\n\r\nRIFF',
  '--EXAMPLE--\r\n',
].join('\r\n');

/** Descriptions and examples of the routes of audio. */
export const audioDocs = {
  transcriptions: {
    description: formDescription,
    example: { body: form, response: { text: 'Hello.' } },
  },
  translations: {
    description: formDescription,
    example: { body: form, response: { text: 'Hello.' } },
  },
  speech: {
    description: 'The bytes come as the lane sends them, in the format that `response_format` asks for.',
    example: { body: { model: 'voice-1', input: 'Hello.', voice: 'alloy' }, response: 'The bytes of the speech' },
  },
} satisfies Docs<typeof audio>;
