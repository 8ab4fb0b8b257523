import type { overview } from '../overview.ts';
import type { Docs } from './docs.ts';
import { samples } from './samples.ts';

/** Descriptions and examples of the routes of the overview. */
export const overviewDocs = {
  get: {
    description:
      'A part is told to a key that may read its feature; counts of the others are absent. A part that fails is named in ' +
      '`unavailable`, the rest stays. Follow `GET /v1/events/stream` and ask again when something changed.',
    example: {
      response: {
        at: '2026-11-02T08:15:00.000Z',
        status: 'down',
        counts: {
          heartbeats: { up: 12, late: 0, down: 1, paused: 0, new: 0 },
          runs: { awaiting_approval: 0, running: 1, failed_24h: 0 },
          machines: { online: 2, away: 0 },
          sandboxes: { running: 0, paused: 0 },
          notifications: { unread: 1 },
          transcripts: { processing: 0, failed: 0 },
          environments: { running: 0, failed: 0 },
          prompts: { due: 0 },
        },
        attention: [
          {
            id: samples.heartbeat,
            kind: 'heartbeat_down',
            severity: 'critical',
            title: 'Nightly backup',
            since: '2026-11-02T04:00:00.000Z',
            href: `/heartbeats/${samples.heartbeat}`,
            actions: [
              { id: 'pause', method: 'PATCH', path: `/v1/heartbeats/${samples.heartbeat}`, body: { paused: true } },
            ],
          },
        ],
        next: [{ schedule_id: samples.schedule, name: 'Nightly backup', at: '2026-11-03T01:00:00.000Z' }],
        recent: [
          {
            id: samples.run,
            schedule_id: samples.schedule,
            name: 'Nightly backup',
            state: 'running',
            at: '2026-11-02T08:14:00.000Z',
          },
        ],
        unavailable: [],
      },
    },
  },
  find: {
    description: 'Looks at names alone, never at contents. Results of a key are of the features that it may read.',
    example: {
      query: { q: 'nightly', limit: 20 },
      response: {
        results: [
          {
            kind: 'heartbeat',
            id: samples.heartbeat,
            title: 'Nightly import',
            href: `/heartbeats/${samples.heartbeat}`,
          },
        ],
      },
    },
  },
} satisfies Docs<typeof overview>;
