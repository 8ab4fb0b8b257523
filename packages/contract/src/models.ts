import { z } from 'zod';
import { dateTime, text } from './fields.ts';
import { json, route } from './route.ts';

/** A model or an alias. It has the fields that clients of OpenAI and of Anthropic read. */
const model = z
  .object({
    id: z.string(),
    object: z.literal('model'),
    type: z.literal('model'),
    display_name: z.string(),
    created: z.int(),
    created_at: dateTime,
    owned_by: z.string(),
  })
  .meta({ id: 'Model' });

/** The models (document 1, Endpoints; design: inference, Routes). */
export const models = {
  list: route({
    method: 'GET',
    path: '/v1/models',
    summary: 'The models and aliases that the key may use',
    auth: 'key',
    answers: json(
      z.object({
        object: z.literal('list'),
        data: z.array(model),
        has_more: z.literal(false),
        first_id: z.string().nullable(),
        last_id: z.string().nullable(),
      }),
    ),
  }),
  /** Additive: clients of OpenAI and of Anthropic look a model up by its name. */
  get: route({
    method: 'GET',
    path: '/v1/models/{name}',
    summary: 'A model or alias that the key may use',
    auth: 'key',
    params: z.object({ name: text(200).min(1) }),
    answers: json(model),
    errors: ['not_found'],
  }),
};
