import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { findRequest } from '../inference/index.ts';

/** The usage and cost of the account's newest request with a trace id. */
export const get = operation(contract.receipt.get, async ({ db, actor }, { query }) => {
  const row = await findRequest(db, actor.accountId, query.trace_id);
  if (!row) throw notFound('receipt; a request is metered about a second after its answer');
  return {
    trace_id: row.trace_id,
    model: row.model,
    lane: row.lane,
    usage: { input_tokens: row.input_tokens, output_tokens: row.output_tokens, cached_tokens: row.cached_tokens },
    cost_micro_usd: row.cost_micro_usd,
    ...(!row.priced && { unpriced: true }),
    ...(row.estimated && { estimated: true }),
    created_at: row.created_at,
  };
});
