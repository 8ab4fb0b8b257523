import { z } from 'zod';
import { dateTime, text } from './fields.ts';
import { json, route } from './route.ts';

/** Usage and cost of a finished request to a model (document 1, Events; design: inference, Settled). */
export const receipt = {
  get: route({
    method: 'GET',
    path: '/v1/receipt',
    summary: 'What a finished request to a model cost',
    auth: 'key',
    query: z.object({ trace_id: text(128).min(1).describe('`x-svc-trace-id` of its answer') }),
    answers: json(
      z
        .object({
          trace_id: z.string(),
          model: z.string(),
          lane: z.string(),
          usage: z.object({
            input_tokens: z.int(),
            output_tokens: z.int(),
            cached_tokens: z.int().optional(),
          }),
          cost_micro_usd: z.int(),
          unpriced: z.boolean().optional().describe('True: nobody told what the model costs; it counts as free'),
          estimated: z
            .boolean()
            .optional()
            .describe('True: the answer was cut before its provider counted; tokens are a guess'),
          created_at: dateTime,
        })
        .meta({ id: 'ModelReceipt' }),
    ),
    errors: ['not_found'],
  }),
};
