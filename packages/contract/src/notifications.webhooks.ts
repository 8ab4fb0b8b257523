import { z } from 'zod';
import {
  dateTime,
  headersOfConnection,
  limit,
  nextCursor,
  page,
  repeatedNames,
  resettable,
  text,
  uuid,
  withoutUser,
} from './fields.ts';
import type { ErrorKind } from './errors.ts';
import { json, route } from './route.ts';

/** Answers show this in place of a value that is only written. In a change it keeps the stored value. */
export const hiddenValue = '***';

/** How a webhook is told, the default first: as Standard Webhooks says, as Slack takes it, or as an ntfy topic takes it. */
export const webhookFormats = ['svc', 'slack', 'ntfy'] as const;

const name = text(120).refine((value) => value.trim() !== '', 'must not be blank');
const url = withoutUser(text(2_000).min(1)).describe(
  '`https:` URL on the public internet, or a URL of a host that the operator allowed; of `ntfy`, that of the topic',
);
/** A type of notifications, or its beginning. */
export const typeOrBeginning = z
  .string()
  .max(200)
  .regex(
    /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/,
    'must be a type, such as heartbeat.down, or its beginning, such as heartbeat; in lower case',
  );
const types = z
  .array(typeOrBeginning)
  .min(1)
  .max(50)
  .describe('Types of notifications, or their beginnings (`heartbeat` for `heartbeat.down`); absent: all');
const headers = z
  .record(
    z
      .string()
      .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/, 'must be a header name')
      .refine(
        (value) => !/^(?:webhook-.*|content-.*|user-agent)$/i.test(value) && !headersOfConnection.test(value),
        'is set by the platform',
      ),
    z
      .string()
      .max(4_096)
      .regex(/^[\t\x20-\x7e]*$/, 'must be a header value'),
  )
  .refine((value) => Object.keys(value).length <= 20, 'must have at most 20 headers')
  .refine((value) => repeatedNames(value).length === 0, 'names a header twice: upper and lower case are the same')
  .describe('Sent with each delivery. Only written: answers show names, and `***` for each value');
/** Codes of notifications' own. */
export const notificationErrors = {
  too_many_secrets: { status: 409, type: 'conflict_error' },
} as const satisfies Record<string, ErrorKind>;

const secret = z.string().describe('`whsec_…`: signs what is sent (Standard Webhooks). In this response only');

/** An address that is sent the account's notifications (additive). */
export const webhook = z
  .object({
    id: uuid,
    name: z.string(),
    url: z.string().describe('A key that may only read sees its origin; empty when `broken`'),
    broken: z.literal(true).optional().describe('Its stored address and secrets cannot be opened any more'),
    format: z.enum(webhookFormats),
    types: z.array(z.string()).optional(),
    headers: z.record(z.string(), z.string()).optional().describe('Each value is `***`'),
    enabled: z.boolean(),
    /** Why the platform switched it off: `gone` (it answered 410), `failing` (nothing arrived for days) or `broken`. */
    disabled_reason: z.string().optional(),
    /** Since when nothing arrived; absent while it works. */
    failing_since: dateTime.optional(),
    created_at: dateTime,
    updated_at: dateTime,
  })
  .meta({ id: 'Webhook' });
const withSecret = webhook.extend({ secret });

const byId = z.object({ id: uuid });
const base = '/v1/notifications/webhooks';

/** Webhooks of an account: all additive, the documents have none. */
export const webhooks = {
  listWebhooks: route({
    method: 'GET',
    path: base,
    summary: "The account's webhooks, newest first",
    auth: 'key',
    query: z.object(page),
    answers: json(z.object({ webhooks: z.array(webhook), ...nextCursor })),
  }),
  createWebhook: route({
    method: 'POST',
    path: base,
    summary: "Send the account's notifications to an address; the `secret` is in this response only",
    auth: 'key',
    idempotent: true,
    shownOnce: true,
    takes: json(
      z.object({
        name,
        url,
        format: z.enum(webhookFormats).default(webhookFormats[0]),
        types: types.nullable().optional(),
        headers: headers.nullable().optional(),
        enabled: z.boolean().default(true),
      }),
    ),
    answers: json(withSecret.meta({ id: 'CreatedWebhook' }), 201),
  }),
  getWebhook: route({
    method: 'GET',
    path: `${base}/{id}`,
    summary: 'One webhook',
    auth: 'key',
    params: byId,
    answers: json(webhook),
  }),
  updateWebhook: route({
    method: 'PATCH',
    path: `${base}/{id}`,
    summary: 'Change a webhook, or switch it off and on; off, what waits for it is dropped',
    auth: 'key',
    params: byId,
    takes: json(
      z
        .object({
          name: name.optional(),
          url: url.optional(),
          format: resettable(z.enum(webhookFormats)),
          types: types.nullable().optional().describe('`null`: all'),
          headers: headers.nullable().optional().describe('Replace the stored ones; `***` keeps a value; `null`: none'),
          enabled: resettable(z.boolean()),
        })
        .refine((body) => Object.values(body).some((value) => value !== undefined), 'at least one field is required'),
    ),
    answers: json(webhook),
  }),
  removeWebhook: route({
    method: 'DELETE',
    path: `${base}/{id}`,
    summary: 'Delete a webhook, and what waits for it',
    auth: 'key',
    params: byId,
    answers: json(z.object({ deleted: z.literal(true), id: uuid })),
  }),
  rotateWebhookSecret: route({
    method: 'POST',
    path: `${base}/{id}/rotate-secret`,
    summary: 'Make a new secret, in this response only; the one before signs too for 24 hours',
    auth: 'key',
    idempotent: true,
    shownOnce: true,
    params: byId,
    answers: json(withSecret.extend({ previous_until: dateTime }).meta({ id: 'RotatedWebhook' })),
    errors: ['too_many_secrets'],
  }),
  testWebhook: route({
    method: 'POST',
    path: `${base}/{id}/test`,
    summary: 'Send a test notification there now, and answer how it went',
    auth: 'key',
    idempotent: true,
    params: byId,
    answers: json(
      z.object({
        ok: z.boolean(),
        status: z.int().optional().describe('What it answered'),
        reason: z.string().optional().describe('Why it did not arrive'),
        duration_ms: z.int(),
      }),
    ),
  }),
  webhookDeliveries: route({
    method: 'GET',
    path: `${base}/{id}/deliveries`,
    summary: 'The last attempts to deliver, newest first; kept for 7 days, 200 at most',
    auth: 'key',
    params: byId,
    query: z.object({ limit: limit(200, 50) }),
    answers: json(
      z.object({
        deliveries: z.array(
          z
            .object({
              /** `webhook-id` of the request: the same on every attempt. */
              message_id: z.string(),
              notification_id: uuid.optional(),
              type: z.string(),
              at: dateTime,
              attempt: z.int(),
              ok: z.boolean(),
              status: z.int().optional().describe('What it answered'),
              reason: z.string().optional().describe('Why it did not arrive'),
              duration_ms: z.int(),
              next_attempt_at: dateTime.optional().describe('Absent when there is none'),
            })
            .meta({ id: 'WebhookDelivery' }),
        ),
      }),
    ),
  }),
};
