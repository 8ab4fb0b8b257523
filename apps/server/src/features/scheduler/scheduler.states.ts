import type { runStates as names } from '@svc/contract';
import { statesOf } from '../../kernel/machine.ts';

export type RunState = (typeof names)[number];

/** The states of a run (document 2, Runs); `scheduler.moves.ts` has the moves between them. */
export const runStates = statesOf<RunState, 'active' | 'waiting' | 'unasked' | 'broken'>({
  pending: {
    means: 'it is due, or will be, and no host has it',
    left: 'a host or the cloud that claims it; a person; its key; after 24 h the clock',
    in: ['active', 'waiting', 'unasked'],
  },
  awaiting_approval: {
    means: 'a person is asked first',
    left: 'a person; its key; after 24 h the clock',
    in: ['active', 'waiting'],
  },
  running: {
    means: 'a host or the cloud has an attempt of it, for the time of its lease',
    left: 'who has the attempt; a person; its key; the clock when lease or time are over',
    in: ['active', 'unasked'],
  },
  succeeded: { means: 'its last attempt went well', left: null },
  failed: { means: 'its last attempt failed, or was lost', left: null, in: ['broken'] },
  timed_out: { means: 'its last attempt took longer than it may', left: null, in: ['broken'] },
  skipped: { means: 'it was never to run: another run, a later slot or a person stood before it', left: null },
  cancelled: { means: 'a person or its schedule ended it', left: null },
  expired: { means: 'no host took it in time', left: null, in: ['broken'] },
});
