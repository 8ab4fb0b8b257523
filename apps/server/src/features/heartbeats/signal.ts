import { contract } from '@svc/contract';
import { type Operation, operation } from '../../kernel/feature.ts';
import { take } from './heartbeats.addresses.ts';
import type { PingBatches } from './heartbeats.batch.ts';
import { isPingKey } from './heartbeats.token.ts';

/** What the last part of the path means hangs on the first: after a ping key it is a slug, whatever it looks like. */
export const signal = (batches: PingBatches): Operation =>
  operation(contract.heartbeats.signal, (context, { params: { token, signal: word }, query }) =>
    isPingKey(token)
      ? take(batches, context, { pingKey: token, slug: word }, '', query)
      : take(batches, context, { token }, word, query),
  );
