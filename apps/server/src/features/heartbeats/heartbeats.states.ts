import { statesOf } from '../../kernel/machine.ts';

/** Where a monitor is; `late` is how people see an `up` that is overdue. */
export type MonitorStatus = 'new' | 'up' | 'down' | 'paused';

/** The states of a monitor; `heartbeats.moves.ts` has the moves between them. */
export const monitorStates = statesOf<MonitorStatus, 'watched'>({
  new: {
    means: 'it was made, or goes on after a pause, and heard of no end yet',
    left: 'its job; the clock; its owner',
    in: ['watched'],
  },
  up: {
    means: 'its last end was a success that is not too old',
    left: 'its job, when it fails; the clock; its owner',
    in: ['watched'],
  },
  down: {
    means: 'its job failed, or was not heard of in time; people were told',
    left: 'its job, when it succeeds; its owner',
  },
  paused: { means: 'its owner wants to hear nothing of it', left: 'its owner; a success; the clock, if it has an end' },
});
