import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { operation, type Operation } from '../../kernel/feature.ts';
import type { Context } from '../../kernel/http/context.ts';
import { serveAs } from '../devices/index.ts';
import type { Execs } from './execs/execs.ts';
import type { Presence } from './hosts.presence.ts';
import type { Relay } from './hosts.relay.ts';

/** Takes a result from the device that the operation was sent to; the first one wins. */
export const result = (relay: Relay, presence: Presence, execs: Execs): Operation =>
  operation(contract.hosts.result, async (context, { params, headers, body }) => {
    const deviceId = headers['x-svc-device'];
    await serveResults(presence, context, deviceId);
    const call = { reqId: params.req_id, accountId: context.actor.accountId, deviceId };
    if (!(await postResult(relay, execs, call, body))) throw notFound('operation of this device');
    return { ok: true as const };
  });

/** Takes the result of a call that somebody waits for, or else of a command that the host did by itself. */
export async function postResult(
  relay: Relay,
  execs: Execs,
  call: { reqId: string; accountId: string; deviceId: string },
  { unknown, ...result }: { ok: boolean; result?: unknown; error?: string | undefined; unknown?: boolean | undefined },
): Promise<boolean> {
  if (await relay.post(call, result)) return true;
  const { reqId: id, accountId, deviceId } = call;
  return execs.report({ id, accountId, deviceId }, { ...result, unknown });
}

/** Checks that the caller's key serves as this device. */
export async function serveResults(presence: Presence, { actor, db }: Context, deviceId: string): Promise<void> {
  // The stream's own key was checked when it opened: a result then costs no query.
  if (presence.local(actor.accountId, deviceId)?.keyId !== actor.keyId) await serveAs(db, { actor, deviceId });
}
