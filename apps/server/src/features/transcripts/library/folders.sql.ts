import { type Db, nowOf, type Time } from '../../../kernel/db/db.ts';
import { pageEnd, type PagedRow, type PageQuery } from '../../../kernel/db/paging.ts';
import type { Quota } from '../../../kernel/records/quotas.ts';

/** A folder as it is stored. */
export interface FolderRow {
  id: string;
  name: string;
  color: string | null;
  parent_id: string | null;
  position: number;
  transcript_count: number;
  created_at: string;
  updated_at: string;
}

/** Fields that a person sets. */
export type FolderChange = Partial<Pick<FolderRow, 'name' | 'color' | 'parent_id' | 'position'>>;

const columns = (db: Db) => db`
  id, name, color, parent_id, position, created_at, updated_at,
  (select count(*)::int from transcripts.transcripts t where t.folder_id = folders.id) as transcript_count`;

/** Limit of the folders of an account. */
export const foldersQuota: Quota = {
  name: 'transcript_folders',
  what: 'folders of transcripts',
  remedy: 'delete some that are not needed any more',
  async count(db, accountId) {
    const [row] = await db<{ n: number }[]>`
      select count(*)::int as n from transcripts.folders where account_id = ${accountId}`;
    return row?.n ?? 0;
  },
};

/** Stores a folder. */
export async function insertFolder(
  db: Db,
  time: Time,
  accountId: string,
  folder: Required<FolderChange>,
): Promise<FolderRow> {
  const now = nowOf(db, time);
  const [row] = await db<FolderRow[]>`
    insert into transcripts.folders (account_id, name, color, parent_id, position, created_at, updated_at)
    values (${accountId}, ${folder.name}, ${folder.color}, ${folder.parent_id}, ${folder.position}, ${now}, ${now})
    returning ${columns(db)}`;
  return row as FolderRow;
}

/** A folder of the account. */
export async function findFolder(db: Db, accountId: string, id: string): Promise<FolderRow | undefined> {
  const [row] = await db<FolderRow[]>`
    select ${columns(db)} from transcripts.folders where id = ${id} and account_id = ${accountId}`;
  return row;
}

/** Folders of an account, newest first. */
export async function listFolders(db: Db, accountId: string, page: PageQuery): Promise<(FolderRow & PagedRow)[]> {
  return db<(FolderRow & PagedRow)[]>`
    select ${columns(db)}, created_at::text as page_at from transcripts.folders
    where account_id = ${accountId} ${pageEnd(db, page, { at: db`created_at`, id: db`id` })}`;
}

/** Changes a folder of the account; undefined when there is none. */
export async function changeFolder(
  db: Db,
  now: string,
  accountId: string,
  id: string,
  change: FolderChange,
): Promise<FolderRow | undefined> {
  const [row] = await db<FolderRow[]>`
    update transcripts.folders set ${db({ ...change, updated_at: now } as never)}
    where id = ${id} and account_id = ${accountId} returning ${columns(db)}`;
  return row;
}

/** Whether a folder is another one's, or stands somewhere below it. */
export async function isBelow(db: Db, id: string, above: string): Promise<boolean> {
  const [row] = await db`
    with recursive up as (
      select id, parent_id, 1 as depth from transcripts.folders where id = ${id}
      union all
      select f.id, f.parent_id, up.depth + 1 from transcripts.folders f join up on f.id = up.parent_id where up.depth < 1000)
    select from up where id = ${above} limit 1`;
  return row !== undefined;
}

/** Holds until the transaction ends: no folder of the account is moved. */
export async function lockFolders(db: Db, accountId: string): Promise<void> {
  await db`select pg_advisory_xact_lock(hashtextextended(${`transcript folders:${accountId}`}, 0))`;
}

/** Deletes a folder; what is in it has no folder then. False when there is none. */
export async function deleteFolder(db: Db, accountId: string, id: string): Promise<boolean> {
  const { count } = await db`delete from transcripts.folders where id = ${id} and account_id = ${accountId}`;
  return count === 1;
}
