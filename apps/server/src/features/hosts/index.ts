import type { Manifest } from '../../kernel/feature.ts';

export { hostProgram } from './hosts.program.ts';

/** The feature without a running platform. */
export const hostsManifest: Manifest = {
  name: 'hosts',
  data: {
    tables: ['hosts.presence', 'hosts.calls', 'hosts.invites'],
  },
};
