import type { Kernel } from '../../kernel/kernel.ts';
import { createBroadcast } from '../../kernel/streams/broadcast.ts';
import type { toNote } from './notes.view.ts';

interface Kept {
  accountId: string;
  note: ReturnType<typeof toNote>;
}

/** The open streams of notes. */
export const createNoteStreams = (kernel: Kernel) => createBroadcast<Kept>(kernel, 'notes');
export type NoteStreams = ReturnType<typeof createNoteStreams>;
