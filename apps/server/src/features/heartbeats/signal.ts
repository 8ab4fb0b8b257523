import { contract } from '@svc/contract';
import { badRequest, notFound } from '../../kernel/http/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { PingBatches } from './heartbeats.batch.ts';
import { signalOf } from './heartbeats.rules.ts';
import { take } from './ping.ts';

export const signal = (batches: PingBatches): Operation =>
  operation(contract.heartbeats.signal, (context, { params, query }) => {
    const meant = signalOf(params.signal);
    if (meant === undefined) throw notFound('route');
    if (meant === null) {
      const message = 'an exit code is 0 to 255';
      throw badRequest(message, { signal: [message] });
    }
    return take(batches, context, params.token, { ...meant, rid: query.rid ?? null });
  });
