import { contract } from '@svc/contract';
import { type Operation, operation } from '../../kernel/feature.ts';
import { take } from './heartbeats.addresses.ts';
import type { PingBatches } from './heartbeats.batch.ts';

export const signalSlug = (batches: PingBatches): Operation =>
  operation(contract.heartbeats.signalSlug, (context, { params: { ping_key, slug, signal }, query }) =>
    take(batches, context, { pingKey: ping_key, slug }, signal, query),
  );
