import { z } from 'zod';
import { dateTime, instant, limit, numberCursor, text, uuid } from './fields.ts';
import { json, route } from './route.ts';

/** A line of the audit log. */
export const act = z
  .object({
    id: z.string(),
    at: dateTime,
    who: z
      .enum(['key', 'login', 'cli', 'system'])
      .describe('A key, a signed-in person, a command on the machine, or the platform by itself'),
    key: z
      .object({ id: uuid, name: z.string().optional(), prefix: z.string().optional() })
      .optional()
      .describe('With `who` `key`: its name as it is now'),
    login_id: uuid.optional().describe('With `who` `login`: the signed-in browser'),
    account: z
      .object({ id: uuid, email: z.string().optional().describe('As it is now; unset once the account is gone') })
      .optional()
      .describe('The account that acted, where it is another than yours, such as a member of your environment'),
    address: z.string().optional().describe('Where the request came from'),
    action: z.string().describe('`<feature>.<verb>`, such as `keys.create`'),
    subject: z.string().optional().describe('Id of what was acted on'),
    details: z.record(z.string(), z.unknown()),
    trace_id: z.string().optional(),
  })
  .meta({ id: 'Act' });

/** Who did what in the caller's account (additive). */
export const audit = {
  list: route({
    method: 'GET',
    path: '/v1/audit',
    summary: "The account's audit log, newest first",
    auth: 'key',
    query: z.object({
      limit: limit(200, 50),
      cursor: numberCursor,
      action: text(80).min(1).optional().describe('An action, or a feature for all of its actions, such as `keys`'),
      subject: text(80).min(1).optional().describe('Id of what was acted on'),
      since: instant.optional(),
      until: instant.optional(),
    }),
    answers: json(
      z
        .object({
          acts: z.array(act),
          next_cursor: z.string().optional().describe('Unset on the last page'),
        })
        .meta({ id: 'Acts' }),
    ),
  }),
};
