import { z } from 'zod';
import { dateTime, nextCursor, page, uuid } from './fields.ts';
import { json, route } from './route.ts';

/** How much is known of an app that asks for access. */
export const clientTrusts = ['first-party', 'registered', 'document', 'unknown'] as const;

/** Ways in that an app may give others, or itself, and that last: they end when it is disconnected. */
export const letInKinds = [
  'member',
  'role',
  'port',
  'ssh_key',
  'webhook',
  'push',
  'share',
  'ping_key',
  'badge',
] as const;
export type LetInKind = (typeof letInKinds)[number];

/** What an app may change, or be shown, that outlives it: undone when it is disconnected, or named to its person. */
export const appChangeKinds = [
  'ping_url',
  'mute',
  'pause',
  'monitor_times',
  'webhook_secret',
  'webhook_terms',
  'preferences',
  'environment_name',
  'environment_secret',
  'port_removed',
] as const;
export type AppChangeKind = (typeof appChangeKinds)[number];

/** An app that a person let in (design: hub, App connects). */
export const connection = z
  .object({
    id: uuid,
    client_id: z.string(),
    name: z.string(),
    trust: z
      .enum(clientTrusts)
      .describe('Who says what it is: this product, its operator, a document at its own address, or nobody'),
    host: z.string().optional().describe('Host of its document; of another app the host that its answers are sent to'),
    scopes: z.array(z.string()),
    resources: z.array(z.string()).describe('What its tokens are for'),
    key_ids: z.array(uuid).describe('API keys that it was given and that can be used'),
    let_in: z
      .array(z.object({ kind: z.enum(letInKinds), name: z.string(), created_at: dateTime }))
      .describe('Whom and what it let in that is still there, the newest 20: all of it ends with the app'),
    let_in_total: z.int().describe('How many these are'),
    changed: z
      .array(z.object({ kind: z.enum(appChangeKinds), name: z.string(), created_at: dateTime }))
      .describe(
        'What it changed that nobody changed since, the newest 20. Once it is disconnected silences end, rules of notifications ' +
          'are what they were, and what it saw of secrets is made anew; the person is told, also of what stays',
      ),
    created_at: dateTime,
    last_used_at: dateTime.optional(),
    ends_at: dateTime
      .optional()
      .describe(
        'When it is signed out unless it is used; its keys have an end of their own. Absent: it is not signed in',
      ),
  })
  .meta({ id: 'Connection' });

/** Apps that were let in, and how they are sent away (additive). */
export const connections = {
  list: route({
    method: 'GET',
    path: '/v1/connections',
    summary: 'Apps that may act for the account, newest first',
    auth: 'key',
    query: z.object(page),
    answers: json(z.object({ connections: z.array(connection), ...nextCursor })),
  }),
  get: route({
    method: 'GET',
    path: '/v1/connections/{id}',
    summary: 'One app that may act for the account',
    auth: 'key',
    params: z.object({ id: uuid }),
    answers: json(z.object({ connection })),
  }),
  disconnect: route({
    method: 'DELETE',
    path: '/v1/connections/{id}',
    summary:
      'End an app’s access: its tokens and keys are refused on the next request, and what it let in is taken back',
    auth: 'key',
    params: z.object({ id: uuid }),
    answers: json(
      z.object({
        deleted: z.literal(true),
        id: uuid,
        keys_revoked: z.int(),
        taken_back: z.int().describe('What it had let in: members, ports, webhooks, links and the like'),
      }),
    ),
  }),
};
