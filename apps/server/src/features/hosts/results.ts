import { contract } from '@svc/contract';
import { operation, type Operation } from '../../kernel/feature.ts';
import type { Execs } from './execs/execs.ts';
import type { Presence } from './hosts.presence.ts';
import type { Relay } from './hosts.relay.ts';
import { postResult, serveResults } from './result.ts';

/** Takes results of one device, each as `result` takes it. */
export const results = (relay: Relay, presence: Presence, execs: Execs): Operation =>
  operation(contract.hosts.results, async (context, { headers, body }) => {
    const { accountId } = context.actor;
    const deviceId = headers['x-svc-device'];
    await serveResults(presence, context, deviceId);
    // Two of one operation go one after the other: the first counts.
    const posted = new Map<string, Promise<boolean>>();
    const taken = body.results.map(({ req_id: reqId, ...result }) => {
      const post = (): Promise<boolean> => postResult(relay, execs, { reqId, accountId, deviceId }, result);
      const own = posted.get(reqId)?.then(post) ?? post();
      posted.set(reqId, own);
      return own;
    });
    return { taken: await Promise.all(taken) };
  });
