import type { execStates as names } from '@svc/contract';
import { statesOf } from '../../../kernel/machine.ts';

export type ExecState = (typeof names)[number];

/** The states of a command that a machine does by itself; `execs.moves.ts` has the moves between them. */
export const execStates = statesOf<ExecState, 'unstarted' | 'underway'>({
  waiting: {
    means: 'its machine was not told: it is away, or has 16 to do',
    left: 'a gateway that holds the stream of its machine; a person; its key; the clock',
    in: ['unstarted'],
  },
  sent: {
    means: 'its machine was told, and has not asked to start it',
    left: 'its machine; a person; its key; the clock',
    in: ['unstarted', 'underway'],
  },
  running: { means: 'its machine started it, once', left: 'its machine', in: ['underway'] },
  done: { means: 'its machine said how it ended', left: null },
  expired: { means: 'it did not start in time', left: null },
  cancelled: { means: 'it never started, or was ended because somebody asked', left: null },
  unknown: { means: 'nobody can know how it ended', left: null },
});
