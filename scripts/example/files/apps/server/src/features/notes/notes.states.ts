import { statesOf } from '../../kernel/machine.ts';

export type NoteState = 'open' | 'done';

/** The states of a note; `notes.moves.ts` has the moves between them. */
export const noteStates = statesOf<NoteState>({
  open: { means: 'it is to be done', left: 'its owner' },
  done: { means: 'its owner did it', left: null },
});
