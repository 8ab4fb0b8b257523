import { contract } from '@svc/contract';
import { type Operation, operation } from '../../kernel/feature.ts';
import { take } from './heartbeats.addresses.ts';
import type { PingBatches } from './heartbeats.batch.ts';

export const ping = (batches: PingBatches): Operation =>
  operation(contract.heartbeats.ping, (context, { params: { token }, query }) =>
    take(batches, context, { token }, '', query),
  );
