import { z } from 'zod';
import { text } from './fields.ts';
import { inferenceCodes, modelName } from './inference.ts';
import { bytes, json, relayed, route } from './route.ts';

/** As the makers of clients know it. */
const mostAudioBytes = 25 * 1024 * 1024;
const form = bytes(mostAudioBytes, 'multipart/form-data');
const transcript = z.looseObject({ text: z.string() }).meta({ id: 'AudioText' });

/** OpenAI's audio (document 1, Endpoints; design: inference, Routes). A token of scope `audio` may call it. */
export const audio = {
  transcriptions: route({
    method: 'POST',
    path: '/v1/audio/transcriptions',
    summary: 'Turn speech into text, as OpenAI’s transcriptions: a form with `file` and `model`',
    auth: 'key',
    refusesLogins: true,
    notIdempotent: 'what a provider answers is passed on and not kept',
    tokenScope: 'audio',
    takes: form,
    answers: relayed(transcript),
    errors: inferenceCodes,
    metered: true,
  }),
  translations: route({
    method: 'POST',
    path: '/v1/audio/translations',
    summary: 'Turn speech into English text, as OpenAI’s translations: a form with `file` and `model`',
    auth: 'key',
    refusesLogins: true,
    notIdempotent: 'what a provider answers is passed on and not kept',
    tokenScope: 'audio',
    takes: form,
    answers: relayed(transcript),
    errors: inferenceCodes,
    metered: true,
  }),
  speech: route({
    method: 'POST',
    path: '/v1/audio/speech',
    summary: 'Turn text into speech, as OpenAI’s speech',
    auth: 'key',
    refusesLogins: true,
    notIdempotent: 'what a provider answers is passed on and not kept',
    tokenScope: 'audio',
    takes: json(z.looseObject({ model: modelName, input: text(100_000).min(1) })),
    answers: relayed(z.string(), 'audio/mpeg'),
    errors: inferenceCodes,
    verbatim: true,
    metered: true,
  }),
};
