import type { wallet } from '../wallet.ts';
import type { Docs } from './docs.ts';

/** Descriptions and examples of the routes of the wallet. */
export const walletDocs = {
  get: {
    description:
      'The operator adds to it with `svc wallet credit`. With `unpaid_micro_eur` above 0 sandboxes and commands in them are ' +
      'refused until the balance covers it; without `billing` nothing is ever taken.',
    example: { response: { balance_micro_eur: 20_000_000, unpaid_micro_eur: 0, billing: true } },
  },
  entries: {
    description:
      'No entry changes or goes: a correction is another entry. Sandboxes are settled every ten minutes in which something ' +
      'counted, and machines of environments every hour. `next_cursor` asks for the next page.',
    example: {
      query: { limit: 50 },
      response: {
        entries: [
          {
            id: '1204',
            at: '2026-11-02T08:20:00.000Z',
            amount_micro_eur: 20_000_000,
            kind: 'credit',
            note: 'invoice 17',
          },
        ],
      },
    },
  },
} satisfies Docs<typeof wallet>;
