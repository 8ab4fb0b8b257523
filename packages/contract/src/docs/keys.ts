import type { key, keys } from '../keys.ts';
import type { z } from 'zod';
import type { Docs } from './docs.ts';
import { samples } from './samples.ts';

const readsSchedules: z.output<typeof key> = {
  id: samples.key,
  name: 'Dashboard',
  prefix: 'svc_EXAM',
  last_four: 'E000',
  status: 'active',
  scopes: ['schedules:read', 'heartbeats:read'],
  tool_level: 'l1',
  expires_at: '2099-12-31T22:00:00.000Z',
  created_at: '2026-11-02T08:15:00.000Z',
  parent_id: samples.caller,
};

/** Descriptions and examples of the routes of keys. */
export const keysDocs = {
  list: {
    description:
      'Paused and revoked keys are listed too. The text of a key is never part of it: recognise one by `prefix` and ' +
      '`last_four`. Without `limit` the first 1,000 come; `next_cursor` asks for the next page.',
    example: { query: { limit: 100 }, response: { keys: [readsSchedules] } },
  },
  create: {
    description:
      'A key gives another one nothing beyond its own scopes, tool level, models, spend cap and life: more is 403 ' +
      '`forbidden`. Store `key` at once, for no other answer has it but a repeat with the same key and `Idempotency-Key` ' +
      'within 24 hours. Past the limit of keys the answer is 429 `quota_exceeded`.',
    example: {
      body: {
        name: 'Dashboard',
        scopes: ['schedules:read', 'heartbeats:read'],
        tool_level: 'l1',
        expires_at: '2100-01-01T00:00:00+02:00',
      },
      response: { ...readsSchedules, key: samples.keyText },
    },
  },
  connect: {
    description:
      'For an app that a person let in at the identity provider, with an access token for `{base_url}`. Store `key` at ' +
      'once; it ends with the connection. A second key for one `device` ends the first when it is used, or after ten ' +
      'minutes.',
    example: {
      body: { name: 'Dashboard' },
      response: { ...readsSchedules, connection_id: samples.connection, key: samples.keyText },
    },
  },
  get: {
    description:
      'Answers for a paused, expired or revoked key too, so that a line of the audit log can be traced to it.',
    example: { params: { id: samples.key }, response: readsSchedules },
  },
  update: {
    description:
      'Only the fields that are sent change, and null lifts a limit. What is taken away is refused on the next request ' +
      'on every gateway. 403 `forbidden` means that the changed key may do more than the calling one; a revoked key ' +
      'cannot be changed: 409 `key_revoked`.',
    example: {
      params: { id: samples.key },
      body: { status: 'paused' },
      response: { ...readsSchedules, status: 'paused' },
    },
  },
  revoke: {
    description:
      'The answer comes once every live gateway refuses the key; it stays in the list and cannot be brought back. Keys ' +
      'that it made live on, `children_left` of them, unless `children=true` asks for them too. 403 `forbidden` means that ' +
      'one of them may do more than the calling key, and then none is revoked.',
    example: {
      params: { id: samples.key },
      query: { children: 'true' },
      response: { deleted: true, id: samples.key, children_revoked: 2, children_left: 0 },
    },
  },
} satisfies Docs<typeof keys>;
