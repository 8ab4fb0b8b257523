import type { NoteRow } from './notes.sql.ts';

/** A note as clients see it. */
export const toNote = ({ id, text, state, created_at }: NoteRow) => ({ id, text, status: state, created_at });
