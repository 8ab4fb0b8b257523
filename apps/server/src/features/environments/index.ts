import type { Db } from '../../kernel/db/db.ts';
import type { Manifest } from '../../kernel/feature.ts';
import { environmentMachine } from './environments.moves.ts';
export { lockEnvironment } from './environments.sql.ts';
import { environmentsQuota, forgetDoer, listSeen } from './environments.sql.ts';
import { toEnvironment } from './environments.view.ts';

export { sealedDataKeys } from './secrets/seal.ts';
export { checkDaemon, daemonReported, mayStillServe } from './environments.daemon.ts';
export { enter, isAtLeast } from './environments.access.ts';
export { checkReach, mayStillReach, type Reach } from './environments.reach.ts';
export type { Wanted } from './environments.reach.sql.ts';
export { placeMachine } from './environments.machines.sql.ts';
export type { EnvironmentRole, EnvironmentRow } from './environments.rows.ts';
export { type EnvironmentState, isServed } from './environments.states.ts';
export { type MachineProviders, mintForMachine, noProvider } from './environments.machines.ts';
export { portNameOf, portUrl } from './published/names.ts';
export { redeemTicket, ticketParameter, visitorOf } from './published/visitors.ts';
export { visits } from './published/visits.ts';
export type { Visit, Visitor } from './published/visits.sql.ts';
export type { EnvironmentHooks } from './environments.hooks.ts';
export { noticesOf } from './people/notify.ts';
export { wakeFor } from './hours/wake.ts';
export { Environments } from './environments.store.ts';
import { dropSent } from './people/invitations.sql.ts';
import { closeAllPorts, passOnAll } from './people/pass-on.ts';
export { environmentsOwnedAlone } from './people/members.sql.ts';
export { handOver, heirsOf, whyNotHandedOver } from './people/hand-over.ts';
export { leaveEnvironments } from './people/org-left.ts';
export { portsForViewers } from './people/ports.sql.ts';
export { linuxUsersOf, usersHashes } from './people/users.sql.ts';
export { provisioned } from './environments.feed.ts';

/** Environments of a project in which an account has a role, newest first: 500 at most. */
export async function environmentsOf(db: Db, accountId: string, projectId: string) {
  const rows = await listSeen(db, accountId, { projectId }, { limit: 500 });
  return rows.slice(0, 500).map(toEnvironment);
}

/** The feature without a running platform. */
export const environmentsManifest: Manifest = {
  name: 'environments',
  data: {
    // Members, ports, secrets, tokens and events of an environment go with it.
    tables: [
      'environments.hours',
      'environments.environments',
      'environments.members',
      'environments.invitations',
      'environments.machine_keys',
      'environments.removed',
      'environments.untold',
    ],
    async end(parts, { accountId }) {
      const { sql } = parts;
      await passOnAll(parts, accountId);
      await closeAllPorts(parts, accountId);
      await forgetDoer(sql, accountId);
      await dropSent(sql, accountId);
      return { deleted: {} };
    },
  },
  machines: [environmentMachine],
  quotas: [environmentsQuota],
};
