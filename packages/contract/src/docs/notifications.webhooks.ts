import type { z } from 'zod';
import { hiddenValue, type webhook, type webhooks } from '../notifications.webhooks.ts';
import type { Docs } from './docs.ts';
import { samples } from './samples.ts';

const params = { id: samples.webhook };
const chat: z.output<typeof webhook> = {
  id: samples.webhook,
  name: 'Ops chat',
  url: samples.webhookUrl,
  format: 'svc',
  types: ['heartbeat'],
  headers: { authorization: hiddenValue },
  enabled: true,
  created_at: '2026-11-02T08:00:00.000Z',
  updated_at: '2026-11-02T08:00:00.000Z',
};

/** Descriptions and examples of the routes of webhooks. */
export const webhooksDocs = {
  listWebhooks: {
    description:
      'A key that may only read sees the origin of an address: the rest of it is often a secret. `failing_since` stands ' +
      'where nothing has arrived for a while, `disabled_reason` where the platform gave up. One with `broken` cannot be ' +
      'opened any more, as after the master key was lost: send its `url` and headers anew and rotate its secret, or delete it.',
    example: { query: { limit: 20 }, response: { webhooks: [chat] } },
  },
  createWebhook: {
    description:
      'The address must be `https:` and public, judged now and at every connect. Format `svc` is signed as Standard ' +
      'Webhooks says; `slack` and `ntfy` have the shapes that those services take. An attempt that fails is made again ' +
      'for about three days, then the webhook is switched off and the inbox says so.',
    example: {
      body: {
        name: 'Ops chat',
        url: samples.webhookUrl,
        types: ['heartbeat'],
        headers: { authorization: 'Bearer EXAMPLE-of-the-receiver' },
      },
      response: { ...chat, secret: samples.webhookSecret },
    },
  },
  getWebhook: {
    description: 'The secret and the values of headers are never answered again.',
    example: { params, response: chat },
  },
  updateWebhook: {
    description:
      'Headers replace the stored ones, and `***` keeps a value. With an address of another server they have to be sent ' +
      'anew, or as `null`. Switched on again it forgets what failed.',
    example: { params, body: { name: 'Ops chat, nights' }, response: { ...chat, name: 'Ops chat, nights' } },
  },
  removeWebhook: {
    description: 'What has not been sent by then is not sent.',
    example: { params, response: { deleted: true, id: samples.webhook } },
  },
  rotateWebhookSecret: {
    description:
      'Until `previous_until` each request carries two signatures, so a receiver may change to the new secret at any ' +
      'moment of that day. Four earlier secrets sign at most: a fifth rotation in that time is 409 `too_many_secrets`.',
    example: {
      params,
      response: { ...chat, secret: samples.webhookSecret, previous_until: '2026-11-03T09:00:00.000Z' },
    },
  },
  testWebhook: {
    description:
      'Waits for the answer, 10 s at most. `ok` is true for a 2xx; `status` is what came, `reason` why nothing did. An ' +
      'account may do this 30 times a minute.',
    example: { params, response: { ok: true, status: 201, duration_ms: 41 } },
  },
  webhookDeliveries: {
    description:
      'One entry an attempt. What waits is 200 at most: the oldest beyond that is dropped, which is an entry too. `message_id` is the `webhook-id` header, the same on every attempt: a receiver that keeps it ' +
      'does nothing twice.',
    example: {
      params,
      query: { limit: 20 },
      response: {
        deliveries: [
          {
            message_id: 'msg_67a24a5f-9b1c-44a0-8a52-4b3a0f6f3c11',
            type: 'notification.test',
            at: '2026-11-02T09:00:00.000Z',
            attempt: 1,
            ok: true,
            status: 201,
            duration_ms: 41,
          },
        ],
      },
    },
  },
} satisfies Docs<typeof webhooks>;
