import type { notification, notifications, preferenceRule } from '../notifications.ts';
import type { z } from 'zod';
import type { Docs } from './docs.ts';
import { webhooksDocs } from './notifications.webhooks.ts';
import { samples } from './samples.ts';

const monitorDown: z.output<typeof notification> = {
  id: samples.notification,
  type: 'heartbeat.down',
  title: 'Nightly import is down',
  body: 'The job failed.',
  url: `svc://heartbeats/${samples.heartbeat}`,
  severity: 'critical',
  web_url: `https://svc.example.com/hub/heartbeats/${samples.heartbeat}`,
  data: { heartbeat_id: samples.heartbeat },
  created_at: '2026-11-02T01:12:40.000Z',
  actions: [
    { id: 'pause', method: 'PATCH', path: `/v1/heartbeats/${samples.heartbeat}`, body: { paused: true } },
    { id: 'open', method: 'GET', path: `/heartbeats/${samples.heartbeat}` },
    { id: 'read', method: 'PATCH', path: `/v1/notifications/${samples.notification}`, body: { read: true } },
    { id: 'archive', method: 'PATCH', path: `/v1/notifications/${samples.notification}`, body: { archived: true } },
  ],
};
const testSent: z.output<typeof notification> = {
  id: samples.notification,
  type: 'notification.test',
  title: 'Test notification',
  body: 'Somebody with a key of this account asked for it. Alerts reach you the same way.',
  severity: 'info',
  created_at: '2026-11-02T09:00:00.000Z',
  actions: [
    { id: 'read', method: 'PATCH', path: `/v1/notifications/${samples.notification}`, body: { read: true } },
    { id: 'archive', method: 'PATCH', path: `/v1/notifications/${samples.notification}`, body: { archived: true } },
  ],
};
const rules: z.output<typeof preferenceRule>[] = [
  { type: 'heartbeat', min_severity: 'critical', channels: ['push', 'mail'] },
  { type: '*', channels: ['push'], quiet_hours: { from: '22:00', to: '07:00', tz: 'Europe/Bucharest' } },
];
const browser = {
  endpoint: samples.endpoint,
  keys: {
    p256dh: 'BOHVsfl9bw-z8r9npRvnXJJcSBejzlal85V2fu385pixaMQ0CNfvUweM2kg22mSjA7WSYcA0vf5QO2ze2Ptw72o',
    auth: 'RVhBTVBMRS1hdXRoLTE2Yg',
  },
};

/** Descriptions and examples of the routes of notifications. */
export const notificationsDocs = {
  ...webhooksDocs,
  list: {
    description:
      'Archived ones are listed only with `archived=true`, and all are kept for 90 days. `unread_count` counts the whole ' +
      'inbox, whatever the query asks for. `next_cursor` asks for the next page, and a stream that begins `after` the ' +
      '`cursor` tells every later change.',
    example: {
      query: { unread: 'true', limit: 20 },
      response: { notifications: [monitorDown], unread_count: 1, cursor: samples.cursor },
    },
  },
  get: {
    description:
      'For a link that names a notification: webhooks and browsers are sent its id. An archived one can be read too; after ' +
      '90 days the answer is 404.',
    example: { params: { id: samples.notification }, response: { notification: monitorDown } },
  },
  update: {
    description:
      '`read` and `archived` are set by true and taken back by false; send at least one of them. Open streams of the ' +
      'account are told with `op: updated`, so that every device shows the same.',
    example: {
      params: { id: samples.notification },
      body: { read: true },
      response: { notification: { ...monitorDown, read_at: '2026-11-02T07:45:00.000Z' } },
    },
  },
  readAll: {
    description:
      '`updated` is how many were unread. Open streams of the account get one `read_all`, in place of an event for each.',
    example: { response: { updated: 4 } },
  },
  getPreferences: {
    description:
      'Without rules every notification goes to each browser, by mail and to each webhook that takes its type. The inbox ' +
      'has them all, whatever the rules say.',
    example: { response: { rules: [] } },
  },
  setPreferences: {
    description:
      'The first rule that names a type decides where its notifications go; order them from the exact type to `*`. Quiet ' +
      'hours hold pushes and mail until they end. News of how people sign in go by mail in any case, where mail is set.',
    example: { body: { rules }, response: { rules } },
  },
  sendTest: {
    description:
      'Goes the way of every alert, and the answer waits up to 10 s for those who take it. `outcome` is `delivered` when the ' +
      'push service, the mail server or the webhook took it, `failed` with what these answered in `reason`, or `pending`. ' +
      'Whether a push is shown, and a mail read, they do not tell.',
    example: {
      response: {
        notification: testSent,
        targets: [
          { channel: 'inbox', to: 'b0a9f6f4-2f5c-4d63-8a3e-5f7f2a1c9d10', sent: true, outcome: 'delivered' },
          {
            channel: 'push',
            to: 'web.push.apple.com',
            sent: false,
            outcome: 'failed',
            status: 403,
            reason: 'the push service answered 403',
          },
        ],
      },
    },
  },
  stream: {
    description:
      'A `notification` with `op: created` or `updated` carries the whole record. Begin without `after` and read the list; ' +
      'after a connection that broke send the last `cursor` as `after`, and nothing is missing, or `missed` is true: read ' +
      'the list anew. A client that falls behind by 1 MiB or 1,000 frames is disconnected.',
    example: {
      query: { after: samples.cursor },
      response: { event: 'notification', data: { op: 'created', ...testSent, cursor: samples.cursor } },
    },
  },
  vapidKey: {
    description:
      'Made once at the first start of the installation and the same for all of its accounts. Pass it to ' +
      '`pushManager.subscribe`, then send what that gives to the route of subscriptions.',
    example: {
      response: {
        public_key: 'BOHVsfl9bw-z8r9npRvnXJJcSBejzlal85V2fu385pixaMQ0CNfvUweM2kg22mSjA7WSYcA0vf5QO2ze2Ptw72o',
      },
    },
  },
  listSubscriptions: {
    description:
      'Some phones stop to show pushes of an app that was not opened for long. So a browser that has not subscribed again ' +
      'for 14 days is `silent`: mail goes in its place, where mail is set. Subscribe at each opening of the app.',
    example: {
      query: { limit: 50 },
      response: {
        subscriptions: [
          {
            id: samples.subscription,
            device_name: "Ana's phone",
            created_at: '2026-11-02T08:20:00.000Z',
            last_seen_at: '2026-11-02T08:20:00.000Z',
            silent: false,
          },
        ],
      },
    },
  },
  subscribe: {
    description:
      'Send the `endpoint` and `keys` of a `PushSubscription` as the browser gives them; repeat it at each opening. The ' +
      'endpoint must be an `https:` address on the public internet, else 400. An account has at most 50 browsers: one more ' +
      'replaces the oldest, and one that its push service no longer knows is forgotten.',
    example: {
      body: { ...browser, device_name: "Ana's phone", hide_contents: false },
      response: {
        subscription: {
          id: samples.subscription,
          endpoint: samples.endpoint,
          created_at: '2026-11-02T08:20:00.000Z',
        },
      },
    },
  },
  unsubscribe: {
    description:
      'Call it when a person turns notifications off, besides `PushSubscription.unsubscribe()`. 404 `not_found` means ' +
      'that no browser of this account has the endpoint.',
    example: { body: { endpoint: samples.endpoint }, response: { deleted: true, id: samples.subscription } },
  },
  removeSubscription: {
    description:
      'For a browser that is not at hand, such as a lost phone. A browser that subscribed while somebody was signed in to it is ' +
      'told no more once that login is ended: signed out there, or from elsewhere.',
    example: { params: { id: samples.subscription }, response: { deleted: true, id: samples.subscription } },
  },
  pushDelivered: {
    description:
      'A push service says that it has taken a push, and not whether the browser ever got it. The push names its `subscription` ' +
      'beside the notification. 404: the account has no such browser, or no such notification.',
    example: {
      params: { id: samples.subscription },
      body: { notification_id: samples.notification },
      response: { delivered_at: '2026-11-02T09:00:01.000Z' },
    },
  },
} satisfies Docs<typeof notifications>;
