import type { Feature } from '../../kernel/feature.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { forgetShutOut } from '../../kernel/records/let-in.ts';
import { forgetConnections } from './connections.sql.ts';
import type { Connections } from './connections.store.ts';
import { disconnect } from './disconnect.ts';
import { get } from './get.ts';
import { connectionsManifest } from './index.ts';
import { list } from './list.ts';

const forget =
  (connections: Connections) =>
  async ({ background }: Kernel): Promise<void> => {
    await connections.takeBackOfEnded();
    await forgetConnections(background);
    await forgetShutOut(background);
  };

/** Apps that people let in. */
export const connectionsFeature = (connections: Connections): Feature => ({
  ...connectionsManifest,
  operations: { list, get, disconnect: disconnect(connections) },
  jobs: [{ name: 'connections.forget', cron: '41 3 * * *', run: forget(connections) }],
});
