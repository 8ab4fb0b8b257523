import { z } from 'zod';
import type { ErrorKind } from './errors.ts';
import { dateTime, emailAddress, nextCursor, page, resettable, text, uuid } from './fields.ts';
import { json, route, toolLevels } from './route.ts';
import { gives } from './strength.ts';

/** Codes of accounts' own. */
export const accountErrors = {
  email_taken: { status: 409, type: 'conflict_error' },
  last_operator: { status: 409, type: 'conflict_error' },
} as const satisfies Record<string, ErrorKind>;

/** An account as those see it who run the installation. */
export const account = z
  .object({
    id: uuid,
    email: z.string(),
    name: z.string(),
    operator: z.boolean().describe('Runs this installation'),
    suspended: z.boolean(),
    subscription: z.enum(['active', 'inactive']),
    tool_level: z.enum(toolLevels).describe('Of its keys that name none: what of tools they reach'),
    created_at: dateTime,
    last_seen_at: dateTime
      .optional()
      .describe('When one of its signed-in browsers was used last; absent: none is left'),
  })
  .meta({ id: 'Account' });

const params = z.object({ id: uuid });

/** People who use this installation, for its operators; to all others every route here is 404 (additive). */
export const accounts = {
  list: route({
    method: 'GET',
    path: '/v1/accounts',
    summary: 'Accounts of this installation, newest first',
    auth: 'key',
    query: z.object(page),
    answers: json(z.object({ accounts: z.array(account), ...nextCursor })),
    errors: ['not_found'],
  }),
  create: route({
    method: 'POST',
    path: '/v1/accounts',
    summary: 'Create an account and a link with which its person chooses how to sign in',
    auth: 'key',
    ...gives('operator'),
    idempotent: true,
    shownOnce: true,
    takes: json(
      z.object({
        email: emailAddress,
        name: text(120).default(''),
        tool_level: z.enum(toolLevels).default('l0').describe('`l3_sandbox`: its person may use sandboxes'),
      }),
    ),
    answers: json(
      z.object({
        account,
        url: z
          .string()
          .describe('Opens once, within 7 days; it is in this answer only, and in a mail when mail is set'),
      }),
      201,
    ),
    errors: ['not_found', 'email_taken'],
  }),
  get: route({
    method: 'GET',
    path: '/v1/accounts/{id}',
    summary: 'One account of this installation',
    auth: 'key',
    params,
    answers: json(account),
  }),
  update: route({
    method: 'PATCH',
    path: '/v1/accounts/{id}',
    summary: 'Suspend an account, let it go on, change its tool level, or make its person an operator',
    auth: 'key',
    ...gives('operator'),
    params,
    takes: json(
      z
        .object({
          suspended: z.boolean().optional(),
          operator: z.boolean().optional(),
          tool_level: resettable(z.enum(toolLevels)).describe('`null`: `l0`'),
        })
        .refine((body) => Object.values(body).some((value) => value !== undefined), 'at least one field is required'),
    ),
    answers: json(account),
    errors: ['last_operator'],
  }),
  link: route({
    method: 'POST',
    path: '/v1/accounts/{id}/link',
    summary: 'Make a link with which a person gets in, or back in',
    auth: 'key',
    ...gives('operator'),
    idempotent: true,
    shownOnce: true,
    params,
    answers: json(z.object({ url: z.string().describe('Opens once; it is in this answer only') }), 201),
  }),
  signOut: route({
    method: 'DELETE',
    path: '/v1/accounts/{id}/logins',
    summary: 'Sign an account out of every browser, at once on every gateway',
    auth: 'key',
    ...gives('operator'),
    params,
    answers: json(z.object({ ended: z.int().describe('Signed-in browsers that are no more') })),
  }),
};
