import { z } from 'zod';
import { json, route } from './route.ts';

/** The account's use of each quota (additive). */
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
};
