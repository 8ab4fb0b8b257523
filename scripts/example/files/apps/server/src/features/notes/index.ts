import type { Manifest } from '../../kernel/feature.ts';
import { notesCommands } from './notes.commands.ts';
import { noteMachine } from './notes.moves.ts';
import { notesQuota } from './notes.sql.ts';

/** The feature's parts that need no running platform. */
export const notesManifest: Manifest = {
  name: 'notes',
  data: { tables: ['notes.notes'] },
  machines: [noteMachine],
  quotas: [notesQuota],
  commands: notesCommands,
};
