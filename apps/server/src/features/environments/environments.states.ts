import type { environmentStates } from '@svc/contract';
import { statesOf } from '../../kernel/machine.ts';

export type EnvironmentState = (typeof environmentStates)[number];

/** The states of an environment (document 3, Environment); `environments.moves.ts` has the moves between them. */
export const environmentStatesTable = statesOf<EnvironmentState, 'live' | 'served'>({
  pending: { means: 'it waits for a machine', left: 'a daemon that enrols; its members', in: ['live'] },
  creating: { means: 'a provider makes its machine', left: 'the machine, which enrols', in: ['live', 'served'] },
  enrolling: { means: 'a daemon enrolled and has not reported yet', left: 'its first report', in: ['live', 'served'] },
  running: { means: 'its daemon has reported', left: 'its members; what stops idle machines', in: ['live', 'served'] },
  stopping: { means: 'its provider stops the machine', left: 'the provider', in: ['live', 'served'] },
  stopped: {
    means: 'its machine stands still at the provider',
    left: 'its members; a run that needs it',
    in: ['live', 'served'],
  },
  starting: { means: 'its provider starts the machine', left: 'the first report', in: ['live', 'served'] },
  archived: { means: 'it was put aside; members, ports and secrets stay', left: 'its members' },
  failed: { means: 'its provider refused for good; the reason is there', left: 'its owners', in: ['live', 'served'] },
  destroying: { means: 'its provider takes the machine away', left: 'the provider', in: ['live'] },
  destroyed: { means: 'it is gone with its secrets; its row stays for 90 days', left: null },
});

/** Whether a daemon may serve an environment in this state, and clients reach it: what was put aside is enrolled again first. */
export const isServed = ({ state }: { state: EnvironmentState }): boolean =>
  environmentStatesTable.where('served').includes(state);
