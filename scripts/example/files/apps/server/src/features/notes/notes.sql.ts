import { type Db, nowOf, type Time } from '../../kernel/db/db.ts';
import { pagedStatement, type PagedRow } from '../../kernel/db/paging.ts';
import type { Quota } from '../../kernel/records/quotas.ts';
import type { NoteState } from './notes.states.ts';

/** A note as it is stored. */
export interface NoteRow {
  id: string;
  account_id: string;
  text: string;
  state: NoteState;
  created_at: string;
  finished_at: string | null;
}

const columns = (db: Db) => db`id, account_id, text, state, created_at, finished_at`;

/** An account has a bounded number of notes. */
export const notesQuota: Quota = {
  name: 'notes',
  remedy: 'delete some',
  async count(db, accountId) {
    const [row] = await db<{ n: number }[]>`select count(*)::int as n from notes.notes where account_id = ${accountId}`;
    return row?.n ?? 0;
  },
};

/** Stores a note. */
export async function insertNote(
  db: Db,
  time: Time,
  note: Pick<NoteRow, 'account_id' | 'text' | 'state'>,
): Promise<NoteRow> {
  const [row] = await db<NoteRow[]>`
    insert into notes.notes (account_id, text, state, created_at)
    values (${note.account_id}, ${note.text}, ${note.state}, ${nowOf(db, time)}) returning ${columns(db)}`;
  return row as NoteRow;
}

/** The account's notes, newest first. */
export const listNotes = pagedStatement<NoteRow & PagedRow>(
  `select id, account_id, text, state, created_at, finished_at, created_at::text as page_at from notes.notes
  where account_id = $1`,
  { at: 'created_at', id: 'id' },
);

/** The account's note, locked until the transaction ends. */
export async function lockNote(db: Db, accountId: string, id: string): Promise<NoteRow | undefined> {
  const [row] = await db<NoteRow[]>`
    select ${columns(db)} from notes.notes where account_id = ${accountId} and id = ${id} for update`;
  return row;
}

/** Changes a note as a move of the table says. */
export async function changeNote(db: Db, id: string, change: Partial<NoteRow>): Promise<NoteRow> {
  const [row] = await db<NoteRow[]>`update notes.notes set ${db(change)} where id = ${id} returning ${columns(db)}`;
  return row as NoteRow;
}

/** Deletes a note; false when the account has none of this id. */
export async function deleteNote(db: Db, accountId: string, id: string): Promise<boolean> {
  return (await db`delete from notes.notes where account_id = ${accountId} and id = ${id} returning 1`).length > 0;
}

/** Forgets what was done 30 days ago. */
export async function sweepDone(db: Db, time: Time): Promise<void> {
  await db`delete from notes.notes where finished_at < ${nowOf(db, time)} - interval '30 days'`;
}

/** How many notes the installation keeps. */
export async function countNotes(db: Db): Promise<number> {
  const [row] = await db<{ n: number }[]>`select count(*)::int as n from notes.notes`;
  return row?.n ?? 0;
}
