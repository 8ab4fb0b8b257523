import { z } from 'zod';
import type { ErrorKind } from './errors.ts';
import { dateTime, nextCursor, page, resettable, text, uuid } from './fields.ts';
import { json, route, toolLevels } from './route.ts';
import { scopeNames } from './scopes.ts';

/** A scope that a key may be given. */
export const scope = z
  .enum(scopeNames, {
    error: ({ input }) => `no such scope: ${JSON.stringify(input)}; one of ${scopeNames.join(', ')}`,
  })
  .describe(
    '`*`: everything. `<feature>`: its routes, except those of hosts themselves. `<feature>:read`: GET only. ' +
      '`hosts:exec`: run operations on hosts. `environments:terminal`: terminals on machines of environments; ' +
      '`environments` includes it, but for apps. `hosts:serve`, `scheduler:serve`: be a host, take scheduled runs',
  )
  .meta({ id: 'Scope' });

/** An API key as it is listed; the secret itself appears only in the create response. */
export const key = z
  .object({
    id: uuid,
    name: z.string(),
    /** First characters of the key, enough to recognise it. */
    prefix: z.string(),
    last_four: z.string(),
    status: z.enum(['active', 'paused', 'revoked']),
    scopes: z.array(z.string()).describe('See `Scope`; a key of an earlier version may have others'),
    tool_level: z.enum(toolLevels),
    models: z.array(z.string()).optional(),
    spend_cap_micro_usd: z.int().optional(),
    expires_at: dateTime.optional(),
    last_used_at: dateTime.optional(),
    created_at: dateTime,
    parent_id: uuid.nullable().describe('The key that made it; null: a person or a command did'),
    connection_id: uuid.optional().describe('The app that was given it; it ends with that'),
  })
  .meta({ id: 'Key' });

const name = text(120).min(1);
/** Default name of a key. */
export const defaultKeyName = 'API key';
const scopes = z.array(scope).min(1).max(128);
/** Any offset is taken; the rest of the server sees UTC. A year of five digits no RFC 3339 instant has. */
const futureInstant = z.iso
  .datetime({ offset: true })
  .refine((value) => Date.parse(value) < Date.UTC(10_000, 0), 'must be before the year 10000 in UTC')
  .transform((value) => new Date(value).toISOString());
const models = z.array(text(120).min(1)).min(1).max(200);
const spendCap = z.int().nonnegative();

/** Codes of keys' own. */
export const keyErrors = {
  key_revoked: { status: 409, type: 'conflict_error' },
} as const satisfies Record<string, ErrorKind>;

/** API keys of the caller's account (design: kernel, accounts and keys). */
export const keys = {
  list: route({
    method: 'GET',
    path: '/v1/keys',
    summary: "The account's API keys, newest first",
    auth: 'key',
    query: z.object(page),
    answers: json(z.object({ keys: z.array(key), ...nextCursor })),
  }),
  create: route({
    method: 'POST',
    path: '/v1/keys',
    summary: 'Create an API key; its text is in this response only',
    auth: 'key',
    idempotent: true,
    shownOnce: true,
    takes: json(
      z.object({
        name: name.default(defaultKeyName),
        scopes: scopes.optional().describe("Default: the calling key's scopes"),
        tool_level: z.enum(toolLevels).optional().describe("Default: the calling key's tool level"),
        models: models.optional().describe("Model allow-list; absent: the calling key's"),
        spend_cap_micro_usd: spendCap.optional(),
        expires_at: futureInstant.optional(),
        device_id: uuid
          .optional()
          .describe('The device that serves as a host with this key, and with no other; needs a `:serve` scope'),
      }),
    ),
    answers: json(key.extend({ key: z.string() }).meta({ id: 'CreatedKey' }), 201),
    errors: ['reauth_required'],
  }),
  connect: route({
    method: 'POST',
    path: '/v1/keys/connect',
    summary: 'Turn an access token of an app into an API key of at most its scopes',
    auth: 'key',
    only: 'token',
    accessTokens: 'api',
    scopes: [],
    idempotent: true,
    shownOnce: true,
    takes: json(
      z.object({
        name: name.optional().describe("Default: the app's name"),
        device: uuid
          .optional()
          .describe('The device that it is for: its former key ends when this one is used, or after ten minutes'),
      }),
    ),
    answers: json(key.extend({ key: z.string() }).meta({ id: 'ConnectedKey' }), 201),
  }),
  // Not in the documents.
  get: route({
    method: 'GET',
    path: '/v1/keys/{id}',
    summary: 'One API key, without its text',
    auth: 'key',
    params: z.object({ id: uuid }),
    answers: json(key),
  }),
  update: route({
    method: 'PATCH',
    path: '/v1/keys/{id}',
    summary: 'Rename, pause or resume a key, or change what it may do',
    auth: 'key',
    params: z.object({ id: uuid }),
    takes: json(
      z
        .object({
          name: resettable(name),
          status: z.enum(['active', 'paused']).optional(),
          scopes: scopes.optional(),
          tool_level: z.enum(toolLevels).optional(),
          models: resettable(models),
          spend_cap_micro_usd: resettable(spendCap),
          expires_at: resettable(futureInstant),
        })
        .refine((body) => Object.values(body).some((value) => value !== undefined), 'at least one field is required'),
    ),
    answers: json(key),
    errors: ['key_revoked', 'reauth_required'],
  }),
  revoke: route({
    method: 'DELETE',
    path: '/v1/keys/{id}',
    summary: 'Revoke a key at once, on every gateway',
    auth: 'key',
    // A key may always end itself.
    scopes: [],
    params: z.object({ id: uuid }),
    query: z.object({
      children: z
        .enum(['true', 'false'])
        .default('false')
        .describe('`true`: with every key that it made, and that those made, or none of them'),
    }),
    answers: json(
      z.object({
        deleted: z.literal(true),
        id: uuid,
        children_revoked: z.int().describe('Keys below it that were revoked with it'),
        children_left: z.int().describe('Keys below it that can still be used, or could be again'),
      }),
    ),
  }),
};
