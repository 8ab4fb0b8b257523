import { contract } from '@svc/contract';
import { ApiError, notFound } from '../../kernel/http/errors.ts';
import { operation, type Operation } from '../../kernel/feature.ts';
import { findDevices } from '../devices/index.ts';
import type { CallOutcome, Relay } from './hosts.relay.ts';

/** Runs an operation on a host and waits for its result; never queued, at most once (design: hosts). */
export const exec = (relay: Relay): Operation =>
  operation(contract.hosts.exec, async (context, { params, body }) => {
    const { op, args, timeout_ms: timeoutMs, ...extra } = body;
    const { reqId, outcome } = await relay.call({
      accountId: context.actor.accountId,
      deviceId: params.device_id,
      timeoutMs,
      signal: context.signal,
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

/** What a caller is told of a call without a result. */
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
