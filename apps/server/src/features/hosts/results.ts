import { contract } from '@svc/contract';
import { operation, type Operation } from '../../kernel/feature.ts';
import type { Presence } from './hosts.presence.ts';
import type { Relay } from './hosts.relay.ts';
import { serveResults } from './result.ts';

/** Takes results of one device, each as `result` takes it. */
export const results = (relay: Relay, presence: Presence): Operation =>
  operation(contract.hosts.results, async (context, { headers, body }) => {
    const { accountId } = context.actor;
    const deviceId = headers['x-svc-device'];
    await serveResults(presence, context, deviceId);
    const posted = body.results.map(({ req_id: reqId, ...result }) =>
      relay.post({ reqId, accountId, deviceId }, result),
    );
    return { taken: await Promise.all(posted) };
  });
