import { gaugeOfRows } from '../../kernel/db/counted.ts';
import type { Db } from '../../kernel/db/db.ts';
import type { Feature } from '../../kernel/feature.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { forgetShutOut } from '../../kernel/records/let-in.ts';
import { countConnections, forgetConnections } from './connections.sql.ts';
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
    await connections.forgetChanges();
  };

/** Apps that people let in. */
export const connectionsFeature = (connections: Connections): Feature => ({
  ...connectionsManifest,
  operations: { list, get, disconnect: disconnect(connections) },
  start(kernel, { works }) {
    const help = 'Apps that people have let in';
    const read = async (db: Db) => ({ open: await countConnections(db) });
    if (works) gaugeOfRows(kernel, { name: 'svc_connections', help, label: 'state' }, read);
    return Promise.resolve({});
  },
  jobs: [{ name: 'connections.forget', cron: '41 3 * * *', run: forget(connections) }],
});
