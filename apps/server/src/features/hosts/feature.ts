import { contract } from '@svc/contract';
import { hostsManifest } from './index.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { Feature } from '../../kernel/feature.ts';
import { exec } from './exec.ts';
import { get } from './get.ts';
import { sweepCalls } from './hosts.jobs.ts';
import { Presence } from './hosts.presence.ts';
import { Relay } from './hosts.relay.ts';
import { invite } from './invite.ts';
import { list } from './list.ts';
import { redeemInvite } from './redeemInvite.ts';
import { result } from './result.ts';
import { results } from './results.ts';
import { stream } from './stream.ts';

/** How long a shutdown waits for operations that hosts still run. */
const drainMs = 5_000;

/** Hosts relay: presence of hosts, and operations carried to them. */
export function hostsFeature(kernel: Kernel): Feature {
  const presence = new Presence(kernel);
  const relay = new Relay(kernel, presence);
  return {
    ...hostsManifest,
    operations: {
      list,
      get,
      stream: stream(presence),
      exec: exec(relay),
      result: result(relay, presence),
      results: results(relay, presence),
      invite,
      redeemInvite: redeemInvite(kernel),
    },
    jobs: [sweepCalls],
    // Who may give commands alone is not told of those of others.
    topic: { ...contract.hosts.list, scopes: ['hosts', 'hosts:read'] },
    start(_kernel, { serves }) {
      // Streams of hosts and their calls are in processes that serve.
      if (!serves) return Promise.resolve({});
      presence.start();
      relay.start();
      return Promise.resolve({ drain: () => relay.drain(drainMs), stop: () => presence.stop() });
    },
  };
}
