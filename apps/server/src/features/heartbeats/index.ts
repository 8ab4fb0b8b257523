import { monitors } from './heartbeats.moves.ts';
import type { Manifest } from '../../kernel/feature.ts';
import { heartbeatsRestored } from './heartbeats.restored.ts';
import { heartbeatsQuota } from './heartbeats.sql.ts';

/** The feature without a running platform. */
export const heartbeatsManifest: Manifest = {
  name: 'heartbeats',
  machines: [monitors],
  data: {
    tables: ['heartbeats.monitors', 'heartbeats.ping_keys', 'heartbeats.badges'],
  },
  quotas: [heartbeatsQuota],
  restored: heartbeatsRestored,
};
