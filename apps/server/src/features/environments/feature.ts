import { contract } from '@svc/contract';
import type { Feature } from '../../kernel/feature.ts';
import type { Forwarder } from '../../kernel/forwarder/forwarder.ts';
import { startLoop } from '../../kernel/work/loop.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { acceptInvitation } from './acceptInvitation.ts';
import { addMember } from './addMember.ts';
import { archive } from './archive.ts';
import { create } from './create.ts';
import { destroy } from './destroy.ts';
import { enroll } from './enroll.ts';
import { enrollToken } from './enrollToken.ts';
import { tellUntold } from './environments.feed.ts';
import { sweepEnvironments } from './environments.jobs.ts';
import type { MachineProviders } from './environments.machines.ts';
import type { Environments } from './environments.store.ts';
import { meterAll } from './hours/meter.ts';
import { wakeAll } from './hours/wake.ts';
import { events } from './events.ts';
import { get } from './get.ts';
import { environmentsManifest } from './index.ts';
import { linkPort } from './linkPort.ts';
import { list } from './list.ts';
import { listInvitations } from './listInvitations.ts';
import { listMembers } from './listMembers.ts';
import { listPorts } from './listPorts.ts';
import { listSecrets } from './listSecrets.ts';
import { environmentChangesLeft } from './secrets/changes.sql.ts';
import { environmentsTakeBack } from './people/taken-back.ts';
import { publishPort } from './publishPort.ts';
import { removeMember } from './removeMember.ts';
import { removePort } from './removePort.ts';
import { removeSecret } from './removeSecret.ts';
import { setSecret } from './setSecret.ts';
import { setSshKey } from './setSshKey.ts';
import { start } from './start.ts';
import { stop } from './stop.ts';
import { update } from './update.ts';
import { updateMember } from './updateMember.ts';
import { environmentsOverview } from './environments.summary.ts';

/** Time is counted, and what may not go on is stopped. */
const meterEveryMs = 60_000;
/** Runs wait for machines. */
const wakeEveryMs = 5_000;
/** Members hear of what waited for somebody's budget. */
const tellEveryMs = 5_000;

/** Environments: machines that developers work on, and who may do what there. */
export function environmentsFeature(
  kernel: Kernel,
  {
    environments,
    providers,
    forwarder,
  }: { environments: Environments; providers: MachineProviders; forwarder: Forwarder },
): Feature {
  return {
    ...environmentsManifest,
    topic: contract.environments.list,
    overview: environmentsOverview,
    takesBack: environmentsTakeBack(kernel, environments),
    changesLeft: environmentChangesLeft,
    operations: {
      list,
      create: create(environments, providers),
      get,
      update: update(environments),
      start: start(environments),
      stop: stop(environments),
      archive: archive(environments),
      destroy: destroy(environments),
      events,
      enrollToken: enrollToken(environments),
      enroll: enroll(kernel, environments),
      listInvitations,
      listMembers,
      addMember: addMember(environments),
      acceptInvitation: acceptInvitation(environments),
      setSshKey: setSshKey(environments),
      updateMember: updateMember(environments),
      removeMember: removeMember(environments),
      listPorts,
      publishPort: publishPort(environments),
      removePort: removePort(environments),
      linkPort: linkPort(forwarder),
      listSecrets,
      setSecret: setSecret(environments),
      removeSecret: removeSecret(environments),
    },
    jobs: [sweepEnvironments],
    start(_kernel, { works }) {
      if (!works) return Promise.resolve({});
      const work = () => meterAll(kernel, environments);
      const wake = () => wakeAll(kernel, environments);
      const tell = () => tellUntold(kernel);
      const loops = [
        startLoop(kernel, { name: 'environments.hours', everyMs: meterEveryMs, work }),
        startLoop(kernel, { name: 'environments.wake', everyMs: wakeEveryMs, work: wake }),
        startLoop(kernel, { name: 'environments.untold', everyMs: tellEveryMs, work: tell }),
      ];
      return Promise.resolve({
        async stop() {
          await Promise.all(loops.map((loop) => loop.stop()));
        },
      });
    },
  };
}
