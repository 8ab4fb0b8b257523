import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { operation, type Operation } from '../../kernel/feature.ts';
import type { Context } from '../../kernel/http/context.ts';
import { serveAs } from '../devices/index.ts';
import type { Presence } from './hosts.presence.ts';
import type { Relay } from './hosts.relay.ts';

/** Takes a result from the device that the operation was sent to; the first one wins. */
export const result = (relay: Relay, presence: Presence): Operation =>
  operation(contract.hosts.result, async (context, { params, headers, body }) => {
    const deviceId = headers['x-svc-device'];
    await serveResults(presence, context, deviceId);
    const call = { reqId: params.req_id, accountId: context.actor.accountId, deviceId };
    if (!(await relay.post(call, body))) throw notFound('operation of this device');
    return { ok: true as const };
  });

/** Checks that the caller's key serves as this device. */
export async function serveResults(presence: Presence, { actor, db }: Context, deviceId: string): Promise<void> {
  // The stream's own key was checked when it opened: a result then costs no query.
  if (presence.local(actor.accountId, deviceId)?.keyId !== actor.keyId) await serveAs(db, { actor, deviceId });
}
