import type { receipt } from '../receipt.ts';
import type { Docs } from './docs.ts';
import { samples } from './samples.ts';

/** Descriptions and examples of the route of receipts. */
export const receiptDocs = {
  get: {
    description: 'Of the newest request with that trace id; 404 until it is metered, which takes about a second.',
    example: {
      query: { trace_id: samples.trace },
      response: {
        trace_id: samples.trace,
        model: 'small-1',
        lane: 'main',
        usage: { input_tokens: 12, output_tokens: 3, cached_tokens: 0 },
        cost_micro_usd: 40,
        created_at: '2026-11-02T09:00:00.000Z',
      },
    },
  },
} satisfies Docs<typeof receipt>;
