import type { Manifest } from '../../kernel/feature.ts';
import { execs } from './execs/execs.moves.ts';
import { hostsRestored } from './hosts.restored.ts';
import { execBytesQuota, execsQuota } from './execs/execs.sql.ts';

export { Execs } from './execs/execs.ts';
export { sealedFrames } from './execs/execs.sql.ts';
export { sealedInvites } from './hosts.invites.sql.ts';
export { hostProgram } from './hosts.program.ts';

/** The feature without a running platform. */
export const hostsManifest: Manifest = {
  name: 'hosts',
  data: {
    tables: ['hosts.presence', 'hosts.calls', 'hosts.invites', 'hosts.execs'],
  },
  machines: [execs],
  quotas: [execsQuota, execBytesQuota],
  restored: hostsRestored,
};
