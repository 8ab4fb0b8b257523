import type { usage } from '../usage.ts';
import type { Docs } from './docs.ts';

/** Descriptions and examples of the route of usage. */
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
} satisfies Docs<typeof usage>;
