import { z } from 'zod';
import { action } from './actions.ts';
import {
  afterCursor,
  clockTime,
  dateTime,
  feedCursor,
  limit,
  nextCursor,
  numberCursor,
  ready,
  resettable,
  timeZone,
  uuid,
} from './fields.ts';
import { push } from './notifications.push.ts';
import { typeOrBeginning, webhooks } from './notifications.webhooks.ts';

export { notificationErrors } from './notifications.webhooks.ts';

import { events, json, route } from './route.ts';

/** How the cause of a notification ended. */
export const resolutions = [
  'approved',
  'skipped',
  'cancelled',
  'expired',
  'started',
  'done',
  'recovered',
  'resumed',
  'paused',
  'postponed',
  'accepted',
  'declined',
  'dismissed',
  'removed',
] as const;
/** How the cause of a notification ended. */
export type Resolution = (typeof resolutions)[number];

/** An entry of the account's inbox (design: kernel, notifications). */
export const notification = z
  .object({
    id: uuid,
    /** `<feature>.<what>`, such as `heartbeat.down`. */
    type: z.string(),
    title: z.string(),
    body: z.string(),
    /** Where it leads, often a deep link into the app. */
    url: z.string().optional(),
    /** The same in the hub; absent for an address that is not of the app. */
    web_url: z.string().optional(),
    severity: z.enum(['info', 'warning', 'critical']),
    data: z.record(z.string(), z.unknown()).optional(),
    created_at: dateTime,
    read_at: dateTime.optional(),
    archived_at: dateTime.optional(),
    resolved_at: dateTime
      .optional()
      .describe('When its cause ended, such as an approval that was given: nobody has to look any more'),
    resolution: z.enum(resolutions).optional().describe('How its cause ended; there with `resolved_at`'),
    actions: z.array(action).describe('Buttons: acts on what it tells of come first, until it is resolved'),
  })
  .meta({ id: 'Notification' });

/** Which way notifications of a type go besides the inbox (additive). */
export const preferenceRule = z
  .object({
    type: z
      .union([z.literal('*'), typeOrBeginning])
      .describe('A type such as `heartbeat.down`, its beginning such as `heartbeat`, or `*` for all'),
    min_severity: z
      .enum(['info', 'warning', 'critical'])
      .optional()
      .describe('What is less severe stays in the inbox; default: all go'),
    channels: z
      .array(z.enum(['push', 'mail', 'webhook']))
      .max(3)
      .describe('None: the inbox only'),
    quiet_hours: z
      .object({ from: clockTime, to: clockTime, tz: timeZone })
      .refine(({ from, to }) => from !== to, { path: ['to'], error: 'must not be the time of `from`' })
      .optional()
      .describe('Pushes and mail wait until these hours end; they may go past midnight'),
  })
  .meta({ id: 'NotificationRule' });
const preferences = z.object({
  rules: z
    .array(preferenceRule)
    .max(50)
    .describe('The first one that names a type decides; without one it goes every way'),
});

/** `true` or `false` in a query; absent: false. */
const queryFlag = z
  .enum(['true', 'false'])
  .default('false')
  .transform((value) => value === 'true');

/** Inbox of the caller's account, and the browsers that are told of it. */
export const notifications = {
  list: route({
    method: 'GET',
    path: '/v1/notifications',
    summary: "The account's notifications, newest first",
    auth: 'key',
    query: z.object({
      unread: queryFlag.describe('`true`: only those not read'),
      archived: queryFlag.describe('`true`: only those archived; else only those that are not'),
      limit: limit(200, 50),
      cursor: numberCursor.describe('`next_cursor` of the page before'),
    }),
    answers: json(
      z.object({
        notifications: z.array(notification),
        /** Not read and not archived, whatever was asked for. */
        unread_count: z.int(),
        cursor: feedCursor.describe('Stands before the list: as `after` of a stream, no change of it is missed'),
        ...nextCursor,
      }),
    ),
  }),
  // Not in the documents.
  get: route({
    method: 'GET',
    path: '/v1/notifications/{id}',
    summary: 'One notification',
    auth: 'key',
    params: z.object({ id: uuid }),
    answers: json(z.object({ notification })),
  }),
  update: route({
    method: 'PATCH',
    path: '/v1/notifications/{id}',
    summary: 'Mark a notification read or archived, or neither again',
    auth: 'key',
    params: z.object({ id: uuid }),
    takes: json(
      z
        .object({
          read: resettable(z.boolean()).describe('`null`: not read'),
          archived: resettable(z.boolean()).describe('`null`: not archived'),
        })
        .refine((body) => body.read !== undefined || body.archived !== undefined, 'at least one field is required'),
    ),
    answers: json(z.object({ notification })),
  }),
  readAll: route({
    method: 'POST',
    path: '/v1/notifications/read-all',
    summary: 'Mark every notification read',
    auth: 'key',
    notIdempotent: 'it sets a state: a repeat finds it so',
    answers: json(z.object({ updated: z.int() })),
  }),
  // Not in the documents.
  getPreferences: route({
    method: 'GET',
    path: '/v1/notifications/preferences',
    summary: 'Which notifications go which way',
    auth: 'key',
    answers: json(preferences),
  }),
  // Not in the documents.
  setPreferences: route({
    method: 'PUT',
    path: '/v1/notifications/preferences',
    summary: 'Say which notifications go which way, in place of what was said before',
    auth: 'key',
    takes: json(preferences),
    answers: json(preferences),
  }),
  sendTest: route({
    method: 'POST',
    path: '/v1/notifications/test',
    summary: "Send a test notification to the caller's account; the answer says where it arrived",
    auth: 'key',
    idempotent: true,
    answers: json(
      z.object({
        notification,
        targets: z.array(
          z.object({
            /** `inbox`, `push`, `webhook` or `mail`; more may come. */
            channel: z.string(),
            /** The account, the push service's host, the webhook's name, or the e-mail address. */
            to: z.string().optional(),
            device_name: z.string().optional().describe('Of `push`: which of several browsers, where it gave a name'),
            sent: z.boolean().describe('Whether whoever takes it there has taken it'),
            outcome: z
              .enum(['delivered', 'failed', 'pending'])
              .optional()
              .describe('`pending`: no answer within 10 s, it is under way; absent where nothing is sent'),
            status: z.int().optional().describe('What the push service, the webhook or the mail server answered'),
            /** Why it is not there. */
            reason: z.string().optional(),
          }),
        ),
      }),
      201,
    ),
  }),
  stream: route({
    method: 'GET',
    path: '/v1/notifications/stream',
    summary: 'Notifications as they come, and as they are read on other devices',
    auth: 'key',
    query: z.object(afterCursor),
    answers: events({
      ready,
      notification: notification
        .partial()
        .required({ id: true })
        .extend({ op: z.enum(['created', 'updated']), cursor: feedCursor })
        .describe('Of one with over 8,000 bytes its `id` is left'),
      read_all: z.object({ at: dateTime, cursor: feedCursor }),
    }),
  }),
  ...push,
  ...webhooks,
};
