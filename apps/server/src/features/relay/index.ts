import type { Manifest } from '../../kernel/feature.ts';

/** The feature without a running platform. */
export const relayManifest: Manifest = {
  name: 'relay',
  data: { tables: ['relay.presence', 'relay.attached'] },
};
