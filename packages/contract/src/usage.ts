import { z } from 'zod';
import { instant } from './fields.ts';
import { json, route } from './route.ts';

/** What the account uses of its quotas, and what it asked for (additive). */
export const usage = {
  get: route({
    method: 'GET',
    path: '/v1/usage',
    summary: 'What the account uses of each quota; past its limit a creation answers `quota_exceeded`',
    auth: 'key',
    answers: json(
      z
        .object({
          quotas: z.array(
            z.object({
              /** Such as `schedules`. */
              name: z.string(),
              used: z.int(),
              limit: z.int(),
            }),
          ),
        })
        .meta({ id: 'Usage' }),
    ),
  }),
  requests: route({
    method: 'GET',
    path: '/v1/usage/requests',
    summary: 'Requests of the account in a span of time, by day, feature, key or device',
    auth: 'key',
    query: z.object({
      from: instant.optional().describe('Default: 30 days before `to`; at most 92'),
      to: instant.optional().describe('Default: now'),
      by: z.enum(['day', 'feature', 'key', 'device']).default('day').describe('Default: day'),
    }),
    answers: json(
      z.object({
        usage: z
          .array(
            z.object({
              group: z
                .string()
                .describe('A day in UTC, a feature, or the id of a key or device; `none`: no device, `other`: several'),
              requests: z.int(),
              errors: z.int().describe('Those answered with 400 or above'),
              bytes: z.int().describe('Sent in answers'),
              cost_micro_usd: z.int(),
              exec_seconds: z.int().describe('How long requests lasted that ran code in sandboxes'),
            }),
          )
          .describe('At most 1,000: days newest first, others with most requests first'),
      }),
    ),
  }),
};
