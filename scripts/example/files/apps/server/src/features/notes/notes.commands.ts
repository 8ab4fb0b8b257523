import type { Commands } from '../../kernel/commands.ts';
import { countNotes } from './notes.sql.ts';

/** `svc notes …`. */
export const notesCommands: Commands = (program, run) => {
  const notes = program.command('notes').description('lines that people keep');
  notes
    .command('count')
    .description('how many there are')
    .action(run(async ({ sql }) => ({ notes: await countNotes(sql) })));
};
