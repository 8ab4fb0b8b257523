import { contract } from '@svc/contract';
import type { Context } from '../../kernel/http/context.ts';
import { notFound } from '../../kernel/http/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { PingBatches } from './heartbeats.batch.ts';
import type { Signal } from './heartbeats.rules.ts';
import { hashToken } from './heartbeats.token.ts';

export const ping = (batches: PingBatches): Operation =>
  operation(contract.heartbeats.ping, (context, { params, query }) =>
    take(batches, context, params.token, { kind: 'success', exitCode: null, rid: query.rid ?? null }),
  );

/** Answers once the signal is stored; 404 for a token that nobody has. */
export async function take(batches: PingBatches, context: Context, token: string, signal: Signal): Promise<'OK'> {
  const tokenHash = hashToken(context.kernel.keyring, token);
  if (!tokenHash || !(await batches.add({ ...signal, tokenHash, body: context.anything }))) throw notFound('heartbeat');
  return 'OK';
}
