import { contract } from '@svc/contract';
import { ApiError, notFound } from '../../kernel/base/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { Execs } from './execs/execs.ts';
import type { Presence } from './hosts.presence.ts';
import { serveResults } from './result.ts';

/** Lets the host that a command was sent to start it, once. */
export const startExec = (execs: Execs, presence: Presence): Operation =>
  operation(contract.hosts.startExec, async (context, { params, headers, body }) => {
    const deviceId = headers['x-svc-device'];
    await serveResults(presence, context, deviceId);
    const which = { id: params.req_id, accountId: context.actor.accountId, deviceId };
    const outcome = await execs.start(which, body.token);
    if (outcome === undefined) throw notFound('command of this device');
    if (outcome === 'over') throw notStarted();
    if (outcome === 'taken') {
      throw new ApiError('exec_taken', 'this device started it with another token, and lost what it wrote down');
    }
    return { state: outcome.state };
  });

/** The refusal of a command that is not to start, or has not. */
export const notStarted = (): ApiError =>
  new ApiError('exec_over', 'the command was cancelled, has expired, or is over');
