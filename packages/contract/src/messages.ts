import { z } from 'zod';
import { agentFields, sessionHeader } from './agent.ts';
import { anyObject, inferenceCodes, modelName } from './inference.ts';
import { json, relayed, route } from './route.ts';

/** A request of Anthropic's messages. Fields beyond these go to a lane of the same protocol as they are. */
const messageRequest = z.looseObject({
  model: modelName,
  messages: z.array(anyObject).min(1),
  max_tokens: z.int().positive(),
  stream: z.boolean().optional(),
  ...agentFields,
});

/** Anthropic's messages (document 1, Endpoints and Authentication 2; design: inference, Routes). */
export const messages = {
  create: route({
    method: 'POST',
    path: '/v1/messages',
    summary: 'Ask a model, as Anthropic’s messages',
    auth: 'key',
    refusesLogins: true,
    notIdempotent: 'what a provider answers is passed on and not kept',
    keyHeader: 'x-api-key',
    headers: z.object(sessionHeader),
    takes: json(messageRequest),
    answers: relayed(
      z
        .looseObject({
          id: z.string(),
          type: z.string(),
          role: z.string(),
          model: z.string(),
          content: z.array(anyObject),
          stop_reason: z.string().nullable(),
        })
        .meta({ id: 'AnthropicMessage' }),
    ),
    errors: [...inferenceCodes, 'sandbox_not_running'],
    verbatim: true,
    metered: true,
  }),
  /** Additive: clients of Anthropic count before they send. */
  countTokens: route({
    method: 'POST',
    path: '/v1/messages/count_tokens',
    summary: 'How many tokens a request of messages sends',
    auth: 'key',
    refusesLogins: true,
    notIdempotent: 'it makes nothing',
    keyHeader: 'x-api-key',
    takes: json(z.looseObject({ model: modelName, messages: z.array(anyObject).min(1) })),
    answers: relayed(z.looseObject({ input_tokens: z.int() }).meta({ id: 'TokenCount' })),
    errors: inferenceCodes,
    verbatim: true,
    metered: true,
  }),
};
