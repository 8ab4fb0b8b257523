import type { Manifest } from '../../kernel/feature.ts';
import { connectionsQuota } from './connections.sql.ts';

export { type ConnectionRow, listConnections, touchConnection } from './connections.sql.ts';
export { Connections, endConnectionsOf, keyDaysOf } from './connections.store.ts';

/** The feature without a running platform. */
export const connectionsManifest: Manifest = {
  name: 'connections',
  data: { tables: ['connections.connections'] },
  quotas: [connectionsQuota],
};
