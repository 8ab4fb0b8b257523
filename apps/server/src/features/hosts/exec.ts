import { hash } from 'node:crypto';
import { contract } from '@svc/contract';
import type { Act } from '../../kernel/records/audit.ts';
import type { Context } from '../../kernel/http/context.ts';
import { ApiError, notFound } from '../../kernel/base/errors.ts';
import { operation, type Operation } from '../../kernel/feature.ts';
import { findDevices } from '../devices/index.ts';
import type { Call, CallOutcome, Relay } from './hosts.relay.ts';

/** Runs an operation on a host and waits for its result; never queued, at most once (design: hosts). */
export const exec = (relay: Relay): Operation =>
  operation(contract.hosts.exec, async (context, { params, body }) => {
    const { op, args, timeout_ms: timeoutMs, ...extra } = body;
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
    if (outcome.kind === 'offline') {
      const known = await findDevices(context.db, context.actor.accountId, [params.device_id]);
      if (known.length === 0) throw notFound('device');
    }
    throw failures[outcome.kind](reqId, timeoutMs);
  });

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
