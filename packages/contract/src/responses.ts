import { z } from 'zod';
import { anyObject, inferenceCodes, modelName } from './inference.ts';
import { json, relayed, route } from './route.ts';

/** A request of OpenAI's responses. Fields beyond these go to a lane of the same protocol as they are. */
const responseRequest = z.looseObject({
  model: modelName,
  input: z.union([z.string(), z.array(anyObject)]).optional(),
  stream: z.boolean().optional(),
});

/** OpenAI's responses (document 1, Endpoints; design: inference, Routes). */
export const responses = {
  create: route({
    method: 'POST',
    path: '/v1/responses',
    summary: 'Ask a model, as OpenAI’s responses',
    auth: 'key',
    refusesLogins: true,
    notIdempotent: 'what a provider answers is passed on and not kept',
    takes: json(responseRequest),
    answers: relayed(
      z
        .looseObject({ id: z.string(), status: z.string(), model: z.string(), output: z.array(anyObject) })
        .meta({ id: 'ModelResponse' }),
    ),
    errors: inferenceCodes,
    verbatim: true,
    metered: true,
  }),
};
