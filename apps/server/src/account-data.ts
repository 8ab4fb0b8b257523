import { accountsData, type DeletionParts } from './features/accounts/index.ts';
import { agentData } from './features/agent/index.ts';
import { artifactsData } from './features/artifacts/index.ts';
import { devicesData } from './features/devices/index.ts';
import { heartbeatsData } from './features/heartbeats/index.ts';
import { hostsData } from './features/hosts/index.ts';
import { inferenceData } from './features/inference/index.ts';
import { isLastOwner, keysData } from './features/keys/index.ts';
import { meteringData } from './features/metering/index.ts';
import { notificationsData } from './features/notifications/index.ts';
import { orgsData, orgsOwnedAlone } from './features/orgs/index.ts';
import { pagesData } from './features/pages/index.ts';
import { promptsData } from './features/prompts/index.ts';
import { rulesData } from './features/rules/index.ts';
import { sandboxesData } from './features/sandboxes/index.ts';
import { schedulerData } from './features/scheduler/index.ts';
import { schedulesData } from './features/schedules/index.ts';
import { sessionsData } from './features/sessions/index.ts';
import { walletData } from './features/wallet/index.ts';
import { type AccountData, kernelData } from './kernel/deletion.ts';

/**
 * What each feature keeps of an account, in the order in which a deletion takes it: what runs first, what is recorded
 * about it after it, keys next to last. A test compares it with every table of the database.
 */
export const accountData: readonly AccountData[] = [
  agentData,
  sandboxesData,
  artifactsData,
  schedulesData,
  schedulerData,
  heartbeatsData,
  promptsData,
  sessionsData,
  hostsData,
  notificationsData,
  pagesData,
  rulesData,
  devicesData,
  orgsData,
  meteringData,
  inferenceData,
  walletData,
  kernelData,
  keysData,
  accountsData,
];

/** What `svc accounts delete` needs of the features. */
export const accountDeletion: DeletionParts = {
  data: accountData,
  async refusal(db, accountId, force) {
    const [org] = await orgsOwnedAlone(db, accountId);
    if (org) {
      return `the organisation ${org.name} (${org.id}) has members and no other owner; make one with: svc orgs add --org ${org.id} --role owner`;
    }
    if (force || !(await isLastOwner(db, accountId))) return undefined;
    return 'no other account has a key that may do everything; make one (svc accounts create, svc keys create), or add --force';
  },
};
