import { statesOf } from '../../kernel/machine.ts';

/** Where a sandbox is in its life; document 3 shows those between two others as the one they come from. */
export type State = 'creating' | 'running' | 'pausing' | 'paused' | 'resuming' | 'stopped' | 'expired' | 'destroyed';

/** The states of a sandbox; `sandboxes.moves.ts` has the moves between them. */
export const sandboxStates = statesOf<State, 'live' | 'made' | 'counted' | 'over'>({
  creating: {
    means: 'a node is asked to make it',
    left: 'who asked for it; after two minutes without that gateway the keeper',
    in: ['live', 'counted'],
  },
  running: {
    means: 'it runs on its node until `expires_at`',
    left: 'its owner; the keeper when its lifetime is over, its account may not run, or its node says so',
    in: ['live', 'made', 'counted'],
  },
  pausing: {
    means: 'its node writes its memory',
    left: 'who asked for the pause, or the keeper, which asks the node',
    in: ['live', 'made'],
  },
  paused: {
    means: 'its memory is kept, its lifetime stands still',
    left: 'its owner; the keeper when its node no longer has it',
    in: ['live', 'made'],
  },
  resuming: {
    means: 'its node loads its memory',
    left: 'who asked for it, or the keeper, which asks the node',
    in: ['live', 'made', 'counted'],
  },
  stopped: { means: 'it ended by itself, or with its node', left: 'its owner, who deletes it', in: ['over'] },
  expired: { means: 'its lifetime was over', left: 'its owner, who deletes it', in: ['over'] },
  destroyed: { means: 'its owner, or a failed creation, ended it', left: null, in: ['over'] },
});
