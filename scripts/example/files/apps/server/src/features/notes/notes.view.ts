import type { NoteRow } from './notes.sql.ts';

/** Its topic in the feed. */
export const topic = 'notes';

/** A note as clients see it. */
export const toNote = ({ id, text, state, created_at }: NoteRow) => ({ id, text, status: state, created_at });
