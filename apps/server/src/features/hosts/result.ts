import { contract } from '@svc/contract';
import { notFound } from '../../kernel/http/errors.ts';
import { operation, type Operation } from '../../kernel/feature.ts';
import type { Relay } from './hosts.relay.ts';

/** Takes a result from the device that the operation was sent to; the first one wins. */
export const result = (relay: Relay): Operation =>
  operation(contract.hosts.result, async (context, { params, headers, body }) => {
    const call = { reqId: params.req_id, accountId: context.actor.accountId, deviceId: headers['x-svc-device'] };
    if (!(await relay.post(call, body))) throw notFound('operation of this device');
    return { ok: true as const };
  });
