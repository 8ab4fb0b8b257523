import { hash } from 'node:crypto';
import { contract } from '@svc/contract';
import { type Act, writeAct } from '../../kernel/records/audit.ts';
import type { Context } from '../../kernel/http/context.ts';
import { ApiError, notFound } from '../../kernel/base/errors.ts';
import { Answer, operation, type Operation } from '../../kernel/feature.ts';
import { findDevices } from '../devices/index.ts';
import type { Execs } from './execs/execs.ts';
import type { ExecState } from './execs/execs.states.ts';
import type { Presence } from './hosts.presence.ts';
import type { Call, CallOutcome, Relay } from './hosts.relay.ts';

/**
 * Runs an operation on a host and waits for its result; never queued, at most once (design: hosts). Or gives it to a host that
 * does it by itself, now or when it is back (design: feed).
 */
export const exec = (relay: Relay, presence: Presence, execs: Execs): Operation =>
  operation(contract.hosts.exec, async (context, { params, body }) => {
    const { if_offline: ifOffline, detach, expires_in_s: expiresInS, ...own } = body;
    const { op, args, timeout_ms: timeoutMs, ...extra } = own;
    const give = () => giveTo(execs, context, { deviceId: params.device_id, body: own, expiresInS });
    if (detach || ifOffline === 'wait') {
      const host = await presence.find(context.actor.accountId, params.device_id);
      if (host && detach && !host.detached) throw isOutdated();
      if (host ? detach : ifOffline === 'wait') return give();
      // One that came back at this moment must not be asked twice.
      if (!host) {
        await checkDevice(context, params.device_id);
        throw failures.offline('', timeoutMs);
      }
    }
    const call = await relay.call({
      accountId: context.actor.accountId,
      deviceId: params.device_id,
      timeoutMs,
      whenGone: (handler) => context.whenGone(handler),
      bytes: context.bodyLength,
      frame: {
        // Further fields of the caller travel as they are; the event's own names win.
        ...extra,
        op,
        args,
        timeout_ms: timeoutMs,
        from_device_id: context.deviceId,
        deadline: context.clock.now() + timeoutMs,
      },
    });
    const { reqId, outcome } = call;
    context.kernel.audit.record(actOf(context, params.device_id, op, call), alikeOf(args, call));
    if (outcome.kind === 'result') {
      const { ok, result = null, error } = outcome.result;
      return { req_id: reqId, ok, result, ...(error !== undefined && { error }) };
    }
    // It left at this moment.
    if (outcome.kind === 'offline' && ifOffline === 'wait') return give();
    if (outcome.kind === 'offline') await checkDevice(context, params.device_id);
    throw failures[outcome.kind](reqId, timeoutMs);
  });

/** Gives a command to a host that does it by itself. Throws 404 for a device that the account does not have. */
async function giveTo(
  execs: Execs,
  context: Context,
  given: { deviceId: string; body: { op: string }; expiresInS: number },
): Promise<Answer<{ req_id: string; state: ExecState }>> {
  const { actor, by, deviceId: fromDeviceId } = context;
  const { deviceId, body, expiresInS } = given;
  const { op } = body;
  await checkDevice(context, deviceId);
  const frame = { ...body, from_device_id: fromDeviceId };
  const sealed = await execs.seal({ actor, deviceId, fromDeviceId, op, frame, expiresInS });
  const { id, state } = await context.transaction(async (tx) => {
    const row = await execs.give(tx, sealed);
    const act = { action: 'hosts.exec', subject: deviceId, details: { op, outcome: 'given', req_id: row.id } };
    await writeAct(tx, { accountId: actor.accountId, by, ...act });
    return row;
  });
  return new Answer({ req_id: id, state }, { status: 202 });
}

async function checkDevice({ db, actor }: Context, deviceId: string): Promise<void> {
  const known = await findDevices(db, actor.accountId, [deviceId]);
  if (known.length === 0) throw notFound('device');
}

const isOutdated = (): ApiError =>
  new ApiError(
    'host_outdated',
    'the daemon of that host is of a version that does no command by itself; update it, or leave out detach',
  );

/** Its line in the audit log: never what is in the frame, which may be a command or a file. */
const actOf = ({ actor, by }: Context, deviceId: string, op: string, { outcome }: Call): Act => ({
  accountId: actor.accountId,
  by,
  action: 'hosts.exec',
  subject: deviceId,
  details: {
    op,
    outcome: outcome.kind === 'result' ? (outcome.result.ok ? 'ok' : 'failed') : outcome.kind,
  },
});

const longestText = 256;
const longestArgs = 64 * 1024;

/**
 * Calls with the same operation and arguments are alike, though each frame has an id and a deadline of its own: a loop of one
 * exec wrote 3,000 lines a second. The hash of its frame sets a long call apart.
 */
function alikeOf(args: unknown, { frame }: Call): { as: string; details: () => object } | undefined {
  if (!frame) return undefined;
  const details = () => ({ frame_sha256: frame.sha256() });
  if (frame.length > longestArgs) return { as: frame.sha256(), details };
  const text = JSON.stringify(args) ?? '';
  return { as: text.length <= longestText ? text : hash('sha256', text), details };
}

/** The error for each call without a result. */
const failures: Record<Exclude<CallOutcome['kind'], 'result'>, (reqId: string, timeoutMs: number) => ApiError> = {
  offline: () => new ApiError('host_offline', 'the host is not connected; start its daemon, then try again'),
  busy: () =>
    new ApiError(
      'rate_limit_exceeded',
      'the host has 16 operations to do already, or is slow to take them; wait for one to end',
      {
        headers: { 'retry-after': '1' },
      },
    ),
  timeout: (reqId, timeoutMs) =>
    new ApiError('host_timeout', `the host did not answer within ${timeoutMs} ms`, { details: { req_id: reqId } }),
  disconnected: (reqId) =>
    new ApiError('host_disconnected', 'the host went away before it answered; the operation may have run', {
      details: { req_id: reqId },
    }),
  // Nobody reads this one: its caller is gone.
  cancelled: (reqId) => new ApiError('host_disconnected', 'the caller went away', { details: { req_id: reqId } }),
};
