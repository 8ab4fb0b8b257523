import type { heartbeats } from '../heartbeats.ts';
import type { heartbeat } from '../heartbeats.shapes.ts';
import type { z } from 'zod';
import type { Docs } from './docs.ts';
import { samples } from './samples.ts';

const base: z.output<typeof heartbeat> = {
  id: samples.heartbeat,
  name: 'Nightly import',
  slug: 'nightly-import',
  period_s: 86400,
  cron: null,
  grace_s: 3600,
  tz: 'Europe/Bucharest',
  status: 'new',
  tags: ['imports'],
  created_at: '2026-11-01T10:00:00.000Z',
  updated_at: '2026-11-01T10:00:00.000Z',
};
const fresh = { ...base, expected_at: '2026-11-02T10:00:00.000Z' };

const madeBadge = {
  svg_url: `https://svc.example.com/badge/${samples.badgeToken}.svg`,
  json_url: `https://svc.example.com/badge/${samples.badgeToken}.json`,
  created_at: '2026-11-01T10:00:00.000Z',
};

/** Descriptions and examples of the routes of monitors. */
export const heartbeatsDocs = {
  list: {
    description:
      '`status` is `new` until the first success, `late` once the period has passed, and `down` once the grace has passed ' +
      'too; each outage alerts the account once, and the success after it once more. All filters hold together. Without ' +
      '`limit` the first 1,000 come, with `days` 200 at most a page; `next_cursor` asks for the next one.',
    example: {
      query: { status: 'up,late,down', tag: 'imports', sort: 'trouble', days: 7, limit: 100 },
      response: {
        heartbeats: [
          {
            ...fresh,
            status: 'up',
            last_ping_at: '2026-11-02T01:12:40.000Z',
            last_start_at: '2026-11-02T01:00:00.000Z',
            last_exit_code: 0,
            expected_at: '2026-11-03T01:12:40.000Z',
            days: 'nnnnnnu',
          },
        ],
      },
    },
  },
  create: {
    description:
      'Whoever has `ping_url` can ping, and it is in no other answer but a repeat with the same key and `Idempotency-Key` ' +
      'within 24 hours. With `cron` in place of `period_s` a success is expected by the next instant it names after the ' +
      'last success, as in a trigger of a schedule. Past the limit of monitors the answer is 429 `quota_exceeded`.',
    example: {
      body: {
        name: 'Nightly import',
        slug: 'nightly-import',
        period_s: 86400,
        grace_s: 3600,
        tz: 'Europe/Bucharest',
        tags: ['imports'],
      },
      response: { ...fresh, ping_url: `https://svc.example.com/ping/${samples.pingToken}` },
    },
  },
  stream: {
    description:
      'Each change comes with the whole monitor, a deletion with its `id` alone; pings that leave `status` as it is are ' +
      'told at most once in 10 s. Begin without `after` and read the list; after a connection that broke send the last ' +
      '`cursor` as `after`, and nothing is missing. With `missed: true` read the list anew.',
    example: {
      query: { after: samples.cursor },
      response: { event: 'heartbeat', data: { op: 'created', heartbeat: fresh, cursor: samples.cursor } },
    },
  },
  get: {
    description:
      'The record that alerts name in `data.heartbeat_id`, as the list has it. Its `ping_url` is in the answer of its ' +
      'creation only: `POST /v1/heartbeats/{id}/rotate` replaces one that was lost.',
    example: { params: { id: samples.heartbeat }, query: { days: 3 }, response: { ...fresh, days: 'nnn' } },
  },
  update: {
    description:
      'A new `period_s` counts from the last success, a new `cron` from now; they end each other. A paused monitor alerts nobody; ' +
      '`paused: false`, or the instant of `paused_until`, begins it anew as `new`, and a success ends the pause too. ' +
      '`muted_until` is no state: a monitor that is down stays so, and its owner is told again when the silence ends.',
    example: {
      params: { id: samples.heartbeat },
      body: { paused_until: '2026-11-09T08:00:00+02:00' },
      response: { ...base, status: 'paused', paused_until: '2026-11-09T06:00:00.000Z' },
    },
  },
  remove: {
    description:
      'Its `ping_url` answers 404 from then on, so take it out of the job first. Notifications about it stay in the inbox.',
    example: { params: { id: samples.heartbeat }, response: { deleted: true, id: samples.heartbeat } },
  },
  rotate: {
    description:
      'For an address that was lost, or that too many know. State, times and pings of the monitor stay as they are, and ' +
      'the audit log says who asked for it. Whoever repeats the request with its `Idempotency-Key` gets the same address.',
    example: {
      params: { id: samples.heartbeat },
      response: { ping_url: `https://svc.example.com/ping/${samples.pingToken}` },
    },
  },
  pings: {
    description:
      'Older pings are not kept. Identical successes in a row may be one entry, whose `count` says how many; of a ' +
      'request body the first 10,000 bytes are kept.',
    example: {
      params: { id: samples.heartbeat },
      query: { limit: 20 },
      response: {
        pings: [
          {
            kind: 'exit',
            at: '2026-11-02T01:12:40.000Z',
            exit_code: 0,
            rid: samples.rid,
            body: 'imported 1204 rows',
            count: 1,
          },
        ],
      },
    },
  },
  log: {
    description:
      'The last 100 pings, and changes of status for 100 days, the last 1,000 of them. A status of `late` is told once it has ' +
      'ended, with the instant at which it began. What happened before the platform kept changes is not there.',
    example: {
      params: { id: samples.heartbeat },
      query: { limit: 20 },
      response: {
        log: [
          { at: '2026-11-02T01:12:40.000Z', kind: 'flip', from: 'new', to: 'up' },
          {
            at: '2026-11-02T01:12:40.000Z',
            kind: 'ping',
            ping: { kind: 'exit', at: '2026-11-02T01:12:40.000Z', exit_code: 0, body: 'imported 1204 rows', count: 1 },
          },
        ],
      },
    },
  },
  getPingKey: {
    description: 'Its text is in the answer of its creation only. 404 when the account has none.',
    example: { response: { created_at: '2026-11-01T10:00:00.000Z' } },
  },
  createPingKey: {
    description:
      'One secret for all jobs: `/ping/<ping_key>/<slug>`, with `/start`, `/fail`, `/log` or an exit code behind it, pings the ' +
      'monitor that has the slug. Whoever has it can ping, and with `?create=1` make monitors up to the limit, and nothing else.',
    example: { response: { ping_key: samples.pingKey, created_at: '2026-11-01T10:00:00.000Z' } },
  },
  removePingKey: {
    description:
      'Pings with it answer 404 from then on, and those of the `ping_url` of each monitor go on. 404 when there is none.',
    example: { response: { deleted: true } },
  },
  listBadges: {
    description:
      'Whatever has an address that needs no key is listed here. The addresses themselves were in the answers that made them; ' +
      'one that was lost is made anew.',
    example: {
      query: { limit: 100 },
      response: { badges: [{ heartbeat_id: samples.heartbeat, created_at: '2026-11-01T10:00:00.000Z' }] },
    },
  },
  createBadge: {
    description:
      'A monitor has no badge unless one is made. Whoever has the address sees name and state of this monitor, and can neither ' +
      'ping nor learn anything else; put it into a README or a status page.',
    example: { params: { id: samples.heartbeat }, response: madeBadge },
  },
  removeBadge: {
    description: 'The address answers 404 from then on. 404 when there is none.',
    example: { params: { id: samples.heartbeat }, response: { deleted: true } },
  },
  createAccountBadge: {
    description:
      'It says `down` when any monitor is, else `late` when any is, else `up`; those that are paused or new do not count. ' +
      'No name and no number is shown.',
    example: { response: madeBadge },
  },
  removeAccountBadge: {
    description: 'The address answers 404 from then on. 404 when there is none.',
    example: { response: { deleted: true } },
  },
  badgeSvg: {
    description: 'For `<img>` and Markdown. No cache keeps it, and nothing in it runs.',
    example: { params: { badge_token: samples.badgeToken }, response: 'The picture.' },
  },
  badgeJson: {
    description: 'For `https://img.shields.io/endpoint?url=…`, and for pages that draw their own.',
    example: {
      params: { badge_token: samples.badgeToken },
      response: { schemaVersion: 1, label: 'Nightly import', message: 'new', color: 'lightgrey' },
    },
  },
  ping: {
    description:
      'Call it when the job is done, from a shell with `curl -fsS`. `OK` is answered once the ping is stored; 404 means ' +
      'that no monitor has this token. GET and POST do the same, and a POST may carry some output of the job.',
    example: {
      params: { token: samples.pingToken },
      query: { rid: samples.rid },
      response: 'OK',
    },
  },
  signal: {
    description:
      'A start that no success follows within the grace takes the monitor down; `fail` and exit codes from 1 to 255 do at ' +
      'once. Exit code 0 is a success, and `log` changes nothing. Send the same `rid` with start and end when runs of ' +
      'one job overlap.',
    example: {
      params: { token: samples.pingToken, signal: '0' },
      query: { rid: samples.rid },
      body: 'imported 1204 rows',
      response: 'OK',
    },
  },
  signalSlug: {
    description:
      'Means what it means after a token; without it, `/ping/<ping_key>/<slug>` is a success. With `create=1` a slug that no ' +
      'monitor has gets one; past the limit of monitors that is 429 `quota_exceeded`.',
    example: {
      params: { ping_key: samples.pingKey, slug: 'nightly-import', signal: 'start' },
      query: { rid: samples.rid, create: '1' },
      response: 'OK',
    },
  },
} satisfies Docs<typeof heartbeats>;
