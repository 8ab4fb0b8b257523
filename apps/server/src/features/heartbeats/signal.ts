import { contract } from '@svc/contract';
import { type Operation, operation } from '../../kernel/feature.ts';
import { take } from './heartbeats.addresses.ts';
import type { PingBatches } from './heartbeats.batch.ts';
import { isPingKey } from './heartbeats.token.ts';

/** The first part of the path decides what the last one means: after a ping key it is a slug, even if it looks like a signal. */
export const signal = (batches: PingBatches): Operation =>
  operation(contract.heartbeats.signal, (context, { params: { token, signal: word }, query }) =>
    isPingKey(token)
      ? take(batches, context, { pingKey: token, slug: word }, '', query)
      : take(batches, context, { token }, word, query),
  );
