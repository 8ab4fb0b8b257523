import { contract } from '@svc/contract';
import { hostsManifest } from './index.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { Feature } from '../../kernel/feature.ts';
import { appendOutput } from './appendOutput.ts';
import { cancelExec } from './cancelExec.ts';
import { exec } from './exec.ts';
import { execOutput } from './execOutput.ts';
import { Dispatcher } from './execs/dispatcher.ts';
import type { Execs } from './execs/execs.ts';
import { endCommands, sweepExecs } from './execs/ticker.ts';
import { get } from './get.ts';
import { getExec } from './getExec.ts';
import { sweepCalls } from './hosts.jobs.ts';
import { Presence } from './hosts.presence.ts';
import { Relay } from './hosts.relay.ts';
import { invite } from './invite.ts';
import { list } from './list.ts';
import { listExecs } from './listExecs.ts';
import { redeemInvite } from './redeemInvite.ts';
import { result } from './result.ts';
import { results } from './results.ts';
import { startExec } from './startExec.ts';
import { stream } from './stream.ts';

/** How long a shutdown waits for operations that hosts still run. */
const drainMs = 5_000;

/** Hosts relay: presence of hosts, and operations carried to them. */
export function hostsFeature(kernel: Kernel, execs: Execs): Feature {
  const presence = new Presence(kernel);
  const relay = new Relay(kernel, presence);
  const dispatcher = new Dispatcher(kernel, presence, execs);
  return {
    ...hostsManifest,
    operations: {
      list,
      get,
      stream: stream(presence),
      exec: exec(relay, presence, execs),
      result: result(relay, presence, execs),
      results: results(relay, presence, execs),
      listExecs,
      getExec,
      execOutput: execOutput(execs),
      cancelExec: cancelExec(execs),
      startExec: startExec(execs, presence),
      appendOutput: appendOutput(execs, presence),
      invite,
      redeemInvite: redeemInvite(kernel),
    },
    jobs: [sweepCalls, sweepExecs],
    // Who may give commands alone is not told of those of others.
    topic: { ...contract.hosts.list, scopes: ['hosts', 'hosts:read'] },
    async start(_kernel, { serves, works }) {
      await execs.changes.start();
      const ending = works ? endCommands(kernel, execs) : undefined;
      // Streams of hosts and their calls are in processes that serve.
      if (serves) {
        presence.start();
        relay.start();
        dispatcher.start();
      }
      return {
        drain: () => (serves ? relay.drain(drainMs) : Promise.resolve()),
        async stop() {
          await Promise.all([ending?.stop(), dispatcher.stop()]);
          if (serves) await presence.stop();
        },
      };
    },
  };
}
