import { type Db, nowOf, type Time } from '../../kernel/db/db.ts';

/** A stored file. */
export interface ArtifactRow {
  id: string;
  path: string;
  bytes: number;
  mime: string;
  sha256: string;
  scan: 'clean' | 'infected' | 'error';
  expires_at: string;
}

const columns = (db: Db) => db`id, path, bytes, mime, sha256, scan, expires_at`;

/** Notes a file whose bytes are about to be stored; nobody has judged it. */
export async function insertArtifact(
  db: Db,
  time: Time,
  artifact: { id: string; accountId: string; sandboxId: string; path: string },
): Promise<void> {
  const { id, accountId, sandboxId, path } = artifact;
  await db`
    insert into artifacts.artifacts
      (id, account_id, sandbox_id, path, bytes, mime, sha256, scan, created_at, expires_at)
    select ${id}, ${accountId}, ${sandboxId}, ${path}, 0, '', '', 'error', at, at + interval '1 hour'
    from (select ${nowOf(db, time)} as at) as clock`;
}

/**
 * Stores the facts of a file whose blob is written; its link is valid for an hour from now. Undefined when it was deleted
 * meanwhile.
 */
export async function judgeArtifact(
  db: Db,
  time: Time,
  artifact: Pick<ArtifactRow, 'id' | 'bytes' | 'mime' | 'sha256' | 'scan'>,
): Promise<ArtifactRow | undefined> {
  const { id, bytes, mime, sha256, scan } = artifact;
  const [row] = await db<ArtifactRow[]>`
    update artifacts.artifacts set bytes = ${bytes}, mime = ${mime}, sha256 = ${sha256}, scan = ${scan},
      expires_at = ${nowOf(db, time)} + interval '1 hour'
    where id = ${id} returning ${columns(db)}`;
  return row;
}

/** Bytes that are kept for an account. */
export async function bytesKept(db: Db, accountId: string): Promise<number> {
  const [row] = await db<{ bytes: number }[]>`
    select coalesce(sum(bytes), 0)::bigint as bytes from artifacts.artifacts
    where account_id = ${accountId} and scan = 'clean'`;
  return row?.bytes ?? 0;
}

/** The same file taken before, with its time begun anew; undefined when it was not, or not judged. */
export async function renewArtifact(
  db: Db,
  time: Time,
  same: { sandboxId: string; path: string; sha256: string },
): Promise<ArtifactRow | undefined> {
  const [row] = await db<ArtifactRow[]>`
    update artifacts.artifacts set expires_at = ${nowOf(db, time)} + interval '1 hour'
    where id = (select id from artifacts.artifacts where sandbox_id = ${same.sandboxId} and path = ${same.path}
      and sha256 = ${same.sha256} and scan <> 'error' and expires_at > ${nowOf(db, time)} limit 1)
    returning ${columns(db)}`;
  return row;
}

/** A file by id, of any account: the link's signature admits. */
export async function artifactById(db: Db, id: string): Promise<ArtifactRow | undefined> {
  const [row] = await db<ArtifactRow[]>`select ${columns(db)} from artifacts.artifacts where id = ${id}`;
  return row;
}

/** Files whose link ran out ten minutes ago; nothing renews them any more. */
export async function expiredIds(db: Db, time: Time, limit: number): Promise<string[]> {
  const rows = await db<{ id: string }[]>`
    select id from artifacts.artifacts where expires_at < ${nowOf(db, time)} - interval '10 minutes' limit ${limit}`;
  return rows.map((row) => row.id);
}

export async function deleteArtifacts(db: Db, ids: readonly string[]): Promise<void> {
  await db`delete from artifacts.artifacts where id = any(${[...ids]})`;
}

/** Files of an account, by id. */
export async function idsOfAccount(db: Db, accountId: string, after: string, limit: number) {
  return db<{ id: string; scan: ArtifactRow['scan'] }[]>`
    select id, scan from artifacts.artifacts where account_id = ${accountId} and id > ${after} order by id limit ${limit}`;
}

/** Ends the links of files, so that the next sweep deletes them. */
export async function expireArtifacts(db: Db, ids: readonly string[]): Promise<void> {
  await db`update artifacts.artifacts set expires_at = created_at - interval '1 day' where id = any(${[...ids]})`;
}

/** Whether the file of an artifact is stored. */
export async function hasArtifacts(db: Db): Promise<boolean> {
  const [row] = await db<
    { yes: boolean }[]
  >`select exists (select from artifacts.artifacts where scan = 'clean') as yes`;
  return row?.yes ?? false;
}
