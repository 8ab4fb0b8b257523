import type { z } from 'zod';
import type { session, sessionControl, sessionEvent, sessions } from '../sessions.ts';
import type { Docs } from './docs.ts';
import { samples } from './samples.ts';

const lease = { device_id: samples.device, expires_at: '2026-11-02T09:00:30.000Z' };
const empty: z.output<typeof session> = {
  id: samples.session,
  title: 'Release notes',
  metadata: { app: 'desktop' },
  seq: 0,
  created_at: '2026-11-02T09:00:00.000Z',
  updated_at: '2026-11-02T09:00:00.000Z',
};
const written: z.output<typeof session> = { ...empty, seq: 2 };
const start: z.output<typeof sessionEvent> = {
  seq: 1,
  type: 'turn_start',
  turn_id: 'turn-1',
  role: 'user',
  text: 'Write the release notes of 2.4',
  device_id: samples.device,
  at: '2026-11-02T09:00:00.000Z',
};
const end: z.output<typeof sessionEvent> = {
  ...start,
  seq: 2,
  type: 'turn_end',
  role: 'assistant',
  text: 'Here they are.',
};
const control: z.output<typeof sessionControl> = {
  id: samples.control,
  session_id: samples.session,
  type: 'send',
  text: 'And in Romanian, please',
  target_device_id: samples.device,
  created_at: '2026-11-02T09:00:00.000Z',
};
const byId = { id: samples.session };
const asDevice = { 'x-svc-device': samples.device };

/** Descriptions and examples of the routes of sessions. */
export const sessionsDocs = {
  list: {
    description:
      'A session is a log of events that grows at its end only, and that every device of the account reads. `lease` names the ' +
      'device that writes now, and is absent while none does.',
    example: { query: { limit: 20 }, response: { sessions: [written] } },
  },
  create: {
    description:
      'It begins without an event. `metadata` is kept as it is given, up to 16,000 characters of JSON. Past the limit of ' +
      'sessions the answer is 429 `quota_exceeded`.',
    example: { body: { title: 'Release notes', metadata: { app: 'desktop' } }, response: empty },
  },
  stream: {
    description:
      'Acknowledge each `control` before you act on it: until then it comes again whenever the stream is opened, and a client ' +
      'tells repeats by `id`. A key that may only serve gets what is meant for its own device.',
    example: { headers: asDevice, response: { event: 'control', data: control } },
  },
  get: {
    description: 'Its `seq` is what the next batch of events has to name as `expected_seq`.',
    example: { params: byId, response: written },
  },
  update: {
    description: 'The new metadata replace all of the old ones, and null removes a field. Its events stay as they are.',
    example: {
      params: byId,
      body: { title: 'Release notes 2.4' },
      response: { ...written, title: 'Release notes 2.4' },
    },
  },
  remove: {
    description: 'Nothing of it can be read afterwards, and streams that follow it end.',
    example: { params: byId, response: { deleted: true, id: samples.session } },
  },
  takeLease: {
    description:
      'Renew it at least every 20 s while you write; each batch of events renews it too. While another device has it the ' +
      'answer is 409 `lease_held`, whose `details.lease` says which one and until when.',
    example: { headers: asDevice, params: byId, response: { lease } },
  },
  dropLease: {
    description: '`released` is false when nobody had it. Another device may write at once instead of 30 s later.',
    example: { headers: asDevice, params: byId, response: { released: false } },
  },
  append: {
    description:
      'The batch is stored whole or not at all, and a free lease is taken by it. When others were faster the answer is 409 ' +
      '`seq_conflict` with `details.seq`. Send the same batch again when an answer is lost: it is stored once.',
    example: {
      headers: asDevice,
      params: byId,
      body: {
        expected_seq: 2,
        events: [{ type: 'message', turn_id: 'turn-2', id: 'm-1', role: 'user', text: 'Thanks!' }],
      },
      response: { seq: 3 },
    },
  },
  events: {
    description:
      'Ask again with `after` set to the last `seq` that you got, until it is that of the session. A page holds 4 MiB of ' +
      'texts at most, so that it may be shorter than `limit`.',
    example: { params: byId, query: { after: 0, limit: 50 }, response: { events: [start, end], seq: 2 } },
  },
  follow: {
    description:
      'Come back with `after` set to the last `seq` when it ends. `lease` comes first and at each change, `control` when ' +
      'something is asked and when it is acknowledged.',
    example: { params: byId, query: { after: 0 }, response: { event: 'event', data: start } },
  },
  sendControl: {
    description:
      'It waits for its device, which may be away for days. The daemon of a host turns `send` into a run of its agent, and ' +
      '`stop` ends that. At most 200 wait for one device; then the answer is 429.',
    example: {
      params: byId,
      body: { type: 'send', text: 'And in Romanian, please' },
      response: control,
    },
  },
  withdrawControl: {
    description:
      'One that nobody took is not delivered any more, and one that its device took and has not begun is not begun: a turn with ' +
      'its id is refused as `control_withdrawn`. What runs goes on until a `stop`; a repeat answers the same.',
    example: {
      params: { id: samples.session, control_id: samples.control },
      response: { ...control, withdrawn_at: '2026-11-02T09:00:00.000Z' },
    },
  },
  ackControl: {
    description: 'A repeat answers the same, with the first `acked_at`. Only its target may do that; others get 404.',
    example: {
      headers: asDevice,
      params: { id: samples.session, control_id: samples.control },
      response: { ...control, acked_at: '2026-11-02T09:00:00.000Z' },
    },
  },
  transcript: {
    description:
      'Deltas of a turn are joined, each speaker stands before what it said. Of more than a million characters the end comes.',
    example: {
      params: byId,
      response: 'user: Write the release notes of 2.4\n\nassistant: Here they are.',
    },
  },
} satisfies Docs<typeof sessions>;
