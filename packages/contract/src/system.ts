import { z } from 'zod';
import { dateTime, uuid } from './fields.ts';
import { json, route } from './route.ts';

/** How the installation does, for its operators; to all others the route is 404 (design: hub; additive). */
export const system = {
  get: route({
    method: 'GET',
    path: '/v1/system',
    summary: 'How this installation does, and how to mend what is wrong',
    auth: 'key',
    answers: json(
      z
        .object({
          version: z.string(),
          started_at: dateTime.describe('Of the process that answers'),
          urls: z.object({
            base: z.string(),
            hub: z.string(),
            auth: z.string(),
            relay: z.string(),
            resolve: z.string(),
          }),
          https: z.boolean().describe('Whether the base URL is an https one'),
          checks: z.array(
            z.object({
              name: z.string(),
              ok: z.boolean(),
              detail: z.string(),
              fix: z.string().optional().describe('What to do'),
            }),
          ),
          gateways: z
            .array(
              z.object({
                id: uuid,
                answers_this: z.boolean(),
                part: z.enum(['all', 'gateway', 'worker', 'relay']).optional().describe('What it was started for'),
              }),
            )
            .describe('Processes with a lease on the database'),
          sandbox_nodes: z.array(
            z.object({
              id: z.string(),
              slots: z.int().describe('Sandboxes that may run at once'),
              used: z.int(),
              backends: z.array(z.string()).describe('Those that run there'),
              images: z.array(
                z.object({
                  template: z.string(),
                  state: z.enum(['absent', 'building', 'ready', 'failed']),
                  percent: z.int().optional().describe('While it is built'),
                }),
              ),
            }),
          ),
          providers: z.array(z.object({ id: z.string(), kind: z.string(), label: z.string(), healthy: z.boolean() })),
          mail: z.object({ configured: z.boolean(), from: z.string().optional() }),
          disk: z.object({ free_bytes: z.int(), total_bytes: z.int() }).describe('Of the data dir'),
        })
        .meta({ id: 'System' }),
    ),
  }),
};
