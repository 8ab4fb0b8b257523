import { contract } from '@svc/contract';
import { badRequest } from '../../kernel/base/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { serveAs } from '../devices/index.ts';
import { checkDaemon } from '../environments/index.ts';
import type { Daemons } from './relay.daemons.ts';

/** Of one message, and of those that wait for either side. HTTP/2 inside of it bounds each stream besides. */
const bounds = { mostBytes: 4 * 1024 * 1024, pingEveryMs: 10_000 };

export const serve = (daemons: Daemons): Operation =>
  operation(contract.relay.serve, async (context, { params: { id: environmentId } }) => {
    const { actor, deviceId } = context;
    if (deviceId === undefined) throw badRequest('x-svc-device: is required: it is the machine that was enrolled');
    const { accountId } = actor;
    await serveAs(context.db, { actor, deviceId });
    await checkDaemon(context.db, { accountId, environmentId, deviceId });
    const { relayPeerUrl } = context.kernel.config;
    const over = await context.openBytes(bounds);
    if (over)
      await daemons.serve({ environmentId, accountId, deviceId, peerUrl: relayPeerUrl ?? context.servedAt }, over);
  });
