import { buffer } from 'node:stream/consumers';
import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { Execs } from './execs/execs.ts';
import type { Presence } from './hosts.presence.ts';
import { serveResults } from './result.ts';
import { notStarted } from './startExec.ts';

/** Takes the output of a command from its host, until the host reports how the command ended. */
export const appendOutput = (execs: Execs, presence: Presence): Operation =>
  operation(contract.hosts.appendOutput, async (context, { params, query, headers }) => {
    const deviceId = headers['x-svc-device'];
    await serveResults(presence, context, deviceId);
    const which = { id: params.req_id, accountId: context.actor.accountId, deviceId };
    const taken = await execs.append(which, query.offset, await buffer(context.upload));
    if (taken === undefined) throw notFound('command of this device');
    if (taken === 'over') throw notStarted();
    return taken;
  });
