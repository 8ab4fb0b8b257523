import { type FileHandle, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Sql } from '../kernel/db/db.ts';
import { places } from './format.ts';
import type { BackupWriter } from './writer.ts';

/** Folders whose content belongs to the running server alone; the server wants the folders themselves. */
const emptied = new Set([
  'pg_dynshmem',
  'pg_notify',
  'pg_replslot',
  'pg_serial',
  'pg_snapshots',
  'pg_stat_tmp',
  'pg_subtrans',
  'pg_wal',
]);
/** Files that a backup must not have, or that it gets from elsewhere. `pg_control` comes last. */
const leftOut =
  /^(?:postmaster\.(?:pid|opts)|backup_label(?:\.old)?|tablespace_map|backup_manifest|logs)$|^pgsql_tmp|\.tmp$/;
const control = 'global/pg_control';
const readBytes = 256 * 1024;

/**
 * Copies the cluster while the server writes (Postgres, "Making a base backup using the low level API"): what is torn is mended
 * by its log. `meanwhile` runs before the end: what it copies is at least as old as the database will be. The session holds the
 * backup: when this process dies, the server forgets it.
 */
export async function copyCluster(
  pool: Sql,
  directory: string,
  writer: BackupWriter,
  meanwhile: () => Promise<void>,
): Promise<void> {
  const sql = await pool.reserve();
  try {
    // A slot of this session keeps the log: else the next checkpoint may remove what was not copied yet.
    await sql`select pg_create_physical_replication_slot(${`svc_backup_${process.pid}`}, true, true)`;
    const [{ start } = { start: '' }] = await sql<{ start: string }[]>`
      select pg_walfile_name(pg_backup_start('svc backup', true)) as start`;
    await copyTree(directory, '', writer);
    await copyControl(directory, writer);
    await meanwhile();
    const [stopped] = await sql<{ stop: string; label: string; map: string }[]>`
      select pg_walfile_name(lsn) as stop, labelfile as label, spcmapfile as map from pg_backup_stop(false)`;
    if (!stopped || stopped.map !== '') throw new Error('a cluster with tablespaces of its own is not copied');
    await copyLog(directory, writer, start, stopped.stop);
    await writer.bytes(`${places.cluster}backup_label`, Buffer.from(stopped.label));
  } finally {
    sql.release();
  }
}

async function copyTree(root: string, folder: string, writer: BackupWriter): Promise<void> {
  const entries = await readdir(join(root, folder), { withFileTypes: true }).catch(ifGone);
  for (const entry of (entries ?? []).sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (leftOut.test(entry.name) || path === control || entry.name.startsWith('pg_internal.init')) continue;
    if (entry.isDirectory()) {
      await writer.folder(`${places.cluster}${path}/`);
      if (!emptied.has(path)) await copyTree(root, path, writer);
    } else if (entry.isFile()) await copyFile(root, path, writer);
  }
}

/** As long as it is now; a file that went meanwhile was dropped, which the log knows. */
async function copyFile(root: string, path: string, writer: BackupWriter): Promise<void> {
  const file = await open(join(root, path), 'r').catch(ifGone);
  if (!file) return;
  try {
    const { size } = await file.stat();
    await writer.file(places.cluster + path, size, bytesOf(file, size));
  } finally {
    await file.close();
  }
}

/** A stream would take a buffer of its full size for each file, and most have a page or two. */
async function* bytesOf(file: FileHandle, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < size; ) {
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(Math.min(size - at, readBytes)), 0);
    if (bytesRead === 0) return;
    at += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

/** The server writes it in one piece, a reader may see half of two: what was read twice alike is whole. */
async function copyControl(root: string, writer: BackupWriter): Promise<void> {
  const read = async (): Promise<Buffer> => {
    const file = await open(join(root, control), 'r');
    try {
      return await file.readFile();
    } finally {
      await file.close();
    }
  };
  let before = await read();
  for (let again = await read(); !again.equals(before); again = await read()) before = again;
  await writer.bytes(places.cluster + control, before);
}

/** The segments from the first to the last, which `pg_backup_stop` has ended. */
async function copyLog(root: string, writer: BackupWriter, first: string, last: string): Promise<void> {
  const all = (await readdir(join(root, 'pg_wal'))).sort();
  const wanted = all.filter((name) => /^[0-9A-F]{24}$/.test(name) && name >= first && name <= last);
  if (wanted[0] !== first || wanted.at(-1) !== last) throw new Error('the log of the database has a gap');
  await writer.folder(`${places.cluster}pg_wal/archive_status/`);
  await writer.folder(`${places.cluster}pg_wal/summaries/`);
  for (const name of wanted) await copyFile(root, `pg_wal/${name}`, writer);
}

function ifGone(error: NodeJS.ErrnoException): undefined {
  if (error.code === 'ENOENT') return undefined;
  throw error;
}
