import { z } from 'zod';
import { anyObject, inferenceCodes, modelName } from './inference.ts';
import { json, relayed, route } from './route.ts';

/** A request of OpenAI's embeddings. Fields beyond these go to the lane as they are. */
const embeddingsRequest = z.looseObject({
  model: modelName,
  input: z.union([z.string(), z.array(z.unknown())]),
});

/** OpenAI's embeddings (document 1, Endpoints; design: inference, Routes). */
export const embeddings = {
  create: route({
    method: 'POST',
    path: '/v1/embeddings',
    summary: 'Turn text into vectors, as OpenAI’s embeddings',
    auth: 'key',
    refusesLogins: true,
    notIdempotent: 'what a provider answers is passed on and not kept',
    tokenScope: 'embeddings',
    takes: json(embeddingsRequest),
    answers: relayed(z.looseObject({ model: z.string(), data: z.array(anyObject) }).meta({ id: 'Embeddings' })),
    errors: inferenceCodes,
    verbatim: true,
    metered: true,
  }),
};
