import type { Feature, JobDefinition } from '../../kernel/feature.ts';
import type { Forwarder } from '../../kernel/forwarder/forwarder.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { Environments } from '../environments/index.ts';
import type { KeyLookup } from '../keys/index.ts';
import { attach } from './attach.ts';
import { relayManifest } from './index.ts';
import { join } from './join.ts';
import { publishedByPath } from './relay.by-path.ts';
import { Attached } from './relay.attached.ts';
import { Daemons } from './relay.daemons.ts';
import { PublishedPorts } from './relay.published.ts';
import { sweepRelay } from './relay.sql.ts';
import { LinuxUsers } from './relay.users.ts';
import { Streams } from './relay.streams.ts';
import { serve } from './serve.ts';
import { status } from './status.ts';

/** Every five minutes: forgets clients of processes that are gone, and machines of environments that are. */
const sweep: JobDefinition = {
  name: 'relay.sweep',
  cron: '*/5 * * * *',
  retries: 0,
  run: ({ background }) => sweepRelay(background),
};

/** The relay: live connections with the machines of environments, and what is reached through them. */
export function relayFeature(
  kernel: Kernel,
  { environments, forwarder, lookup }: { environments: Environments; forwarder: Forwarder; lookup: KeyLookup },
): Feature {
  const daemons = new Daemons(kernel, environments);
  const users = new LinuxUsers(kernel, daemons);
  const streams = new Streams(kernel, daemons);
  const attached = new Attached(kernel);
  const published = new PublishedPorts(kernel, { streams, lookup, environments, listener: forwarder });
  forwarder.register(published);
  return {
    ...relayManifest,
    operations: {
      status,
      serve: serve(daemons),
      attach: attach(streams, attached, environments),
      join: join(streams),
    },
    raw: [publishedByPath(forwarder, published)],
    jobs: [sweep],
    async start(_kernel, { serves, relays }) {
      if (relays) {
        daemons.start();
        users.start();
        attached.start();
      }
      if (serves) await forwarder.listen();
      return {
        async stop() {
          await forwarder.close();
          await daemons.stop();
          await users.stop();
          await attached.stop();
        },
      };
    },
  };
}
