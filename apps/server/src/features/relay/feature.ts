import type { Feature, JobDefinition } from '../../kernel/feature.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { Environments } from '../environments/index.ts';
import { attach } from './attach.ts';
import { relayManifest } from './index.ts';
import { join } from './join.ts';
import { Attached } from './relay.attached.ts';
import { Daemons } from './relay.daemons.ts';
import { sweepRelay } from './relay.sql.ts';
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
export function relayFeature(kernel: Kernel): Feature {
  const daemons = new Daemons(kernel, new Environments(kernel));
  const streams = new Streams(kernel, daemons);
  const attached = new Attached(kernel);
  return {
    ...relayManifest,
    operations: {
      status,
      serve: serve(daemons),
      attach: attach(streams, attached),
      join: join(streams),
    },
    jobs: [sweep],
    start(_kernel, { relays }) {
      if (relays) {
        daemons.start();
        attached.start();
      }
      return Promise.resolve({
        async stop() {
          await daemons.stop();
          await attached.stop();
        },
      });
    },
  };
}
