import { machine, partsOf } from '../../kernel/machine.ts';
import type { NoteRow } from './notes.sql.ts';
import { type NoteState, noteStates } from './notes.states.ts';

const { effect, to } = partsOf<NoteState, NoteRow, Partial<NoteRow>>();

const moves = {
  create: to('open', { from: [] }),
  finish: to('done', {
    from: ['open'],
    effects: [effect('finished now', (_, __, now) => ({ finished_at: now.iso }))],
  }),
};

/** Every move of a note. Nothing else sets the state of one; README.md shows this table. */
export const noteMachine = machine({ table: 'notes.notes', states: noteStates, moves });
