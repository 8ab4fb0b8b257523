import { statesOf } from '../../kernel/machine.ts';

export type PromptState = 'open' | 'launched' | 'sent' | 'answered' | 'verified' | 'done' | 'dismissed' | 'superseded';

/** The states of a prompt (document 1, States and transitions); `prompts.moves.ts` has the moves between them. */
export const promptStates = statesOf<PromptState, 'active' | 'unclosed'>({
  open: {
    means: 'it was put into the book',
    left: 'its owner; a turn that has its text; the ticker at its time; a newer one of its goal',
    in: ['active', 'unclosed'],
  },
  launched: {
    means: 'a device was asked to send it',
    left: 'a turn that has its text; its owner',
    in: ['active', 'unclosed'],
  },
  sent: { means: 'a turn has its text', left: 'the end of that turn; its owner', in: ['active', 'unclosed'] },
  answered: { means: 'that turn is over', left: 'its verdict; its owner', in: ['active', 'unclosed'] },
  verified: { means: 'a model found it done', left: 'its owner', in: ['unclosed'] },
  done: { means: 'its owner says that it is done', left: 'a verdict of `done`' },
  dismissed: { means: 'its owner wants it no longer', left: 'a verdict of `done`' },
  superseded: { means: 'a newer prompt of its goal stands for it', left: 'a verdict of `done`' },
});

/** Where a launch of a prompt is. */
export type LaunchState = 'waiting' | 'taken' | 'running' | 'finished' | 'failed' | 'withdrawn';

/** The states of a launch; `prompts.launches.ts` has the moves between them. */
export const launchStates = statesOf<LaunchState, 'unbegun' | 'live'>({
  waiting: { means: 'no device took its control', left: 'a device; its owner; its key', in: ['unbegun', 'live'] },
  taken: { means: 'a device took its control', left: 'its first turn; its owner; its key', in: ['unbegun', 'live'] },
  running: { means: 'its turn began', left: 'the end of its turn; its session, when that is deleted', in: ['live'] },
  finished: { means: 'its turn went well', left: null },
  failed: { means: 'its turn failed, or its session is gone', left: null },
  withdrawn: { means: 'it was taken back before it began', left: 'a turn that began all the same' },
});
