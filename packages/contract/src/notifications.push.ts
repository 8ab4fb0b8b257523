import { z } from 'zod';
import { dateTime, nextCursor, page, text, uuid } from './fields.ts';
import { json, route } from './route.ts';

const base64url = /^[A-Za-z0-9_-]+={0,2}$/;
/** A key of a subscription: so many bytes in base64url, as browsers give them. */
const keyBytes = (bytes: number) =>
  text(200)
    .regex(base64url, 'must be base64url')
    .refine((value) => Math.floor((value.replace(/=+$/, '').length * 3) / 4) === bytes, `must be ${bytes} bytes`);
const endpoint = text(2_000).min(1);
const subscribed = z.object({
  subscription: z.object({ id: uuid, endpoint: z.string(), created_at: dateTime }),
});

/** The browsers that are told of the inbox. */
export const push = {
  vapidKey: route({
    method: 'GET',
    path: '/v1/push/vapid-key',
    summary: 'The key that a browser subscribes to Web Push with (`applicationServerKey`, base64url)',
    auth: 'key',
    answers: json(z.object({ public_key: z.string() })),
  }),
  // Not in the documents.
  listSubscriptions: route({
    method: 'GET',
    path: '/v1/push/subscriptions',
    summary: 'The browsers that are told, newest first',
    auth: 'key',
    query: z.object(page),
    answers: json(
      z.object({
        subscriptions: z.array(
          z.object({
            id: uuid,
            device_name: z.string().describe('Empty if it was not given'),
            created_at: dateTime,
            last_seen_at: dateTime.describe('When it subscribed last: a repeat counts'),
            last_delivered_at: dateTime.optional().describe('When its push service last took a notification'),
            delivered_at: dateTime.optional().describe('When a notification last came to the browser, as its hub says'),
            last_error: z
              .object({ at: dateTime, status: z.int().optional(), reason: z.string() })
              .optional()
              .describe('Why its push service did not take the last notification; gone once it takes one'),
            silent: z.boolean().describe('Not seen for 14 days: mail goes in its place, where mail is set'),
          }),
        ),
        ...nextCursor,
      }),
    ),
  }),
  subscribe: route({
    method: 'POST',
    path: '/v1/push/subscriptions',
    summary: "Tell a browser of the account's notifications; a repeat answers 200",
    auth: 'key',
    notIdempotent: 'a repeat answers the subscription that is there',
    takes: json(
      z.object({
        endpoint: endpoint.describe('`https:` URL of the push service, from `PushSubscription`'),
        keys: z.object({ p256dh: keyBytes(65), auth: keyBytes(16) }),
        device_name: text(120).optional().describe('For the list of browsers'),
        hide_contents: z
          .boolean()
          .optional()
          .describe('Its pushes say what kind of thing happened, without names and text; default: all of it'),
      }),
    ),
    answers: json(subscribed, 201).or(200, subscribed),
  }),
  unsubscribe: route({
    method: 'DELETE',
    path: '/v1/push/subscriptions',
    summary: 'Forget a browser, by its endpoint',
    auth: 'key',
    takes: json(z.object({ endpoint })),
    answers: json(z.object({ deleted: z.literal(true), id: uuid })),
    errors: ['not_found'],
  }),
  // Not in the documents.
  removeSubscription: route({
    method: 'DELETE',
    path: '/v1/push/subscriptions/{id}',
    summary: 'Forget a browser, by its id: one that was lost, from another',
    auth: 'key',
    params: z.object({ id: uuid }),
    answers: json(z.object({ deleted: z.literal(true), id: uuid })),
    errors: ['not_found'],
  }),
  // Not in the documents.
  pushDelivered: route({
    method: 'POST',
    path: '/v1/push/subscriptions/{id}/delivered',
    summary: 'Say that a push has come to a browser: its service worker does, when it shows one',
    auth: 'key',
    notIdempotent: 'a repeat for the same notification changes nothing',
    isUnattended: true,
    params: z.object({ id: uuid }),
    takes: json(z.object({ notification_id: uuid })),
    answers: json(z.object({ delivered_at: dateTime })),
    errors: ['not_found'],
  }),
};
