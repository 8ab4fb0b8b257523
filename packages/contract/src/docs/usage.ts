import type { usage } from '../usage.ts';
import type { Docs } from './docs.ts';

/** Descriptions and examples of the routes of usage. */
export const usageDocs = {
  get: {
    description:
      'Counts what there is now, for all keys of the account together. A limit is the one of the installation, unless ' +
      'its operator gave the account one of its own.',
    example: {
      response: {
        quotas: [
          { name: 'keys', used: 3, limit: 1000 },
          { name: 'schedules', used: 12, limit: 20000 },
        ],
      },
    },
  },
  requests: {
    description:
      'Requests of the last seconds may not be counted yet, and after 90 days they are forgotten by whole months. Free ' +
      'requests past 120 a minute are counted without their device. A span with very many requests may take too long: 503, ' +
      'ask for a shorter one.',
    example: {
      query: { from: '2026-11-01T00:00:00Z', to: '2026-11-03T00:00:00Z', by: 'day' },
      response: {
        usage: [
          { group: '2026-11-02', requests: 1841, errors: 12, bytes: 902_144, cost_micro_usd: 15_300, exec_seconds: 96 },
        ],
      },
    },
  },
} satisfies Docs<typeof usage>;
