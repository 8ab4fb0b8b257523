import {
  accountsCommands,
  accountsManifest,
  type DeletionParts,
  isLastOperator,
  lastOperatorText,
} from './features/accounts/index.ts';
import { agentManifest } from './features/agent/index.ts';
import { artifactsManifest } from './features/artifacts/index.ts';
import { auditManifest } from './features/audit/index.ts';
import { connectionsManifest } from './features/connections/index.ts';
import { authManifest, signInsOf } from './features/auth/index.ts';
import { cloudsManifest } from './features/clouds/index.ts';
import { devicesManifest } from './features/devices/index.ts';
import {
  environmentsManifest,
  environmentsOwnedAlone,
  handOver,
  heirsOf,
  leaveEnvironments,
  whyNotHandedOver,
} from './features/environments/index.ts';
import { heartbeatsManifest } from './features/heartbeats/index.ts';
import { hostsManifest } from './features/hosts/index.ts';
import { inferenceManifest } from './features/inference/index.ts';
import { isLastOwner, keysManifest } from './features/keys/index.ts';
import { meteringManifest } from './features/metering/index.ts';
import { notificationsManifest } from './features/notifications/index.ts';
import { type OrgRemoval, orgsManifest, orgsOwnedAlone } from './features/orgs/index.ts';
import { pagesManifest } from './features/pages/index.ts';
import { passOnOrgProjects, projectsManifest } from './features/projects/index.ts';
import { promptsManifest } from './features/prompts/index.ts';
import { relayManifest } from './features/relay/index.ts';
import { rulesManifest } from './features/rules/index.ts';
import { sandboxesManifest } from './features/sandboxes/index.ts';
import { schedulerManifest } from './features/scheduler/index.ts';
import { schedulesManifest } from './features/schedules/index.ts';
import { sessionsManifest } from './features/sessions/index.ts';
import { transcriptsManifest } from './features/transcripts/index.ts';
import { uploadsManifest } from './features/uploads/index.ts';
import { walletManifest } from './features/wallet/index.ts';
import { kernelManifest } from './kernel/deletion.ts';
import type { Manifest } from './kernel/feature.ts';

/**
 * Every feature that has more than operations, from the ground up: commands, states, quotas, and what it keeps of an account.
 * The deletion of an account goes from the last to the first: what runs ends first, what is recorded about it follows, keys
 * are next to last. A test compares it with every table of the database.
 */
export const manifests: readonly Manifest[] = [
  { ...accountsManifest, commands: accountsCommands((admin) => signInsOf(admin, undefined)) },
  keysManifest,
  authManifest,
  connectionsManifest,
  kernelManifest,
  walletManifest,
  inferenceManifest,
  meteringManifest,
  orgsManifest,
  devicesManifest,
  rulesManifest,
  auditManifest,
  pagesManifest,
  notificationsManifest,
  hostsManifest,
  sessionsManifest,
  promptsManifest,
  uploadsManifest,
  transcriptsManifest,
  heartbeatsManifest,
  schedulerManifest,
  schedulesManifest,
  artifactsManifest,
  sandboxesManifest,
  projectsManifest,
  environmentsManifest,
  relayManifest,
  cloudsManifest,
  agentManifest,
];

/** How each feature's part of an account goes, in the order of a deletion. */
export const accountData = manifests.toReversed().flatMap(({ data }) => data ?? []);

/** The parts of the features that `svc orgs remove` uses. */
export const orgRemoval: OrgRemoval = { leaveEnvironments, passOnProjects: passOnOrgProjects };

/** The parts of the features that `svc accounts delete` uses. */
export const accountDeletion: DeletionParts = {
  data: accountData,
  handOver,
  heirsOf,
  async refusal(db, accountId, handsOver = false) {
    const [org] = await orgsOwnedAlone(db, accountId);
    if (org) {
      const why = `the organisation ${org.name} (${org.id}) has members and no other owner; make one with: svc orgs add --org ${org.id} --role owner`;
      return { code: 'last_owner', why, mayBeForced: false };
    }
    const notNow = handsOver ? await whyNotHandedOver(db, accountId) : undefined;
    if (notNow !== undefined) return { code: 'last_owner', why: notNow, mayBeForced: false };
    const [environment] = handsOver ? [] : await environmentsOwnedAlone(db, accountId);
    if (environment) {
      const why = `the environment ${environment.name} (${environment.id}) has members and no other owner; make a member its owner, or destroy it`;
      return { code: 'last_owner', why, mayBeForced: false, mayBeHandedOver: true };
    }
    if (await isLastOperator(db, accountId)) return { code: 'last_operator', why: lastOperatorText, mayBeForced: true };
    if (!(await isLastOwner(db, accountId))) return undefined;
    const why = 'no other account has a key that may do everything; make one (svc accounts create, svc keys create)';
    return { code: 'last_owner', why, mayBeForced: true };
  },
};
