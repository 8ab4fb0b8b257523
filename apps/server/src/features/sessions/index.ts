import type { AccountData } from '../../kernel/deletion.ts';
export { type Said, Sessions, workPlatforms } from './sessions.book.ts';
export type { ControlRow } from './sessions.controls.sql.ts';
export type { SessionListener } from './sessions.turns.ts';
export type { Turn } from './sessions.turns.sql.ts';

/** What it keeps of an account. */
export const sessionsData: AccountData = {
  name: 'sessions',
  tables: ['sessions.turns', 'sessions.controls', 'sessions.sessions'],
};
