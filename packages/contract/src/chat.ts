import { z } from 'zod';
import { agentFields, sessionHeader } from './agent.ts';
import { anyObject, inferenceCodes, modelName } from './inference.ts';
import { json, relayed, route } from './route.ts';

/** A request of OpenAI's chat completions. Fields beyond these go to a lane of the same protocol as they are. */
const completionRequest = z.looseObject({
  model: modelName,
  messages: z.array(anyObject).min(1),
  stream: z.boolean().optional(),
  ...agentFields,
});

/** OpenAI's chat completions (document 1, Endpoints; design: inference, Routes). */
export const chat = {
  completions: route({
    method: 'POST',
    path: '/v1/chat/completions',
    summary: 'Ask a model, as OpenAI’s chat completions',
    auth: 'key',
    refusesLogins: true,
    notIdempotent: 'what a provider answers is passed on and not kept',
    headers: z.object(sessionHeader),
    takes: json(completionRequest),
    answers: relayed(
      z
        .looseObject({
          id: z.string(),
          model: z.string(),
          choices: z.array(
            z.looseObject({
              index: z.int(),
              message: z.looseObject({ role: z.string(), content: z.unknown() }),
              finish_reason: z.string(),
            }),
          ),
        })
        .meta({ id: 'ChatCompletion' }),
    ),
    errors: [...inferenceCodes, 'sandbox_not_running'],
    verbatim: true,
    metered: true,
  }),
};
