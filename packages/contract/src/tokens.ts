import { z } from 'zod';
import { dateTime } from './fields.ts';
import { json, route, tokenScopes } from './route.ts';

/** Tokens for browsers and phones, that live for minutes (document 1, Authentication 3; design: inference, Settled). */
export const tokens = {
  create: route({
    method: 'POST',
    path: '/v1/tokens',
    summary: 'A token for one kind of media route, that lives for minutes and dies with its key',
    auth: 'key',
    refusesLogins: true,
    notIdempotent: 'a token lives for minutes: ask for another',
    takes: json(
      z.object({
        scope: z.enum(tokenScopes),
        ttl: z.int().min(30).max(3_600).default(600).describe('Seconds'),
      }),
    ),
    answers: json(
      z.object({ token: z.string(), scope: z.enum(tokenScopes), expires_at: dateTime }).meta({ id: 'MediaToken' }),
      201,
    ),
  }),
};
