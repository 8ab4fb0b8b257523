import type { Manifest } from '../../kernel/feature.ts';
import { heartbeatsQuota } from './heartbeats.sql.ts';

/** What it is without a running platform. */
export const heartbeatsManifest: Manifest = {
  name: 'heartbeats',
  data: {
    tables: ['heartbeats.monitors', 'heartbeats.ping_keys', 'heartbeats.badges'],
  },
  quotas: [heartbeatsQuota],
};
