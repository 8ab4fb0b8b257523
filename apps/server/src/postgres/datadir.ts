import { randomBytes } from 'node:crypto';
import { chmodSync, linkSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { databaseUser } from './user.ts';

/** Root of the clone or installed package: the parent of `apps/`. */
export const packageRoot = resolve(import.meta.dirname, '../../../..');

/** Where state is kept when `SVC_DATA_DIR` names no place. */
export const systemDataDir = '/var/lib/svc';

/** Whether a user without privileges could enter `path` and every folder above it. */
export function enterableByAll(path: string): boolean {
  for (let folder = resolve(path); ; folder = dirname(folder)) {
    const stat = statSync(folder, { throwIfNoEntry: false });
    if (stat && (stat.mode & 0o001) === 0) return false;
    if (folder === dirname(folder)) return true;
  }
}

/**
 * Creates and answers the data directory (setting `SVC_DATA_DIR`). As root it can be entered but not listed by other
 * users, because Postgres drops to another user; the secrets in it are 0600.
 */
export function openDataDir(configured: string | undefined, embeddedDatabase: boolean): string {
  const ownUser = databaseUser() === undefined;
  const local = join(packageRoot, '.svc');
  const dataDir = configured ?? (ownUser || !embeddedDatabase || enterableByAll(packageRoot) ? local : systemDataDir);
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  chmodSync(dataDir, ownUser || !embeddedDatabase ? 0o700 : 0o711);
  return dataDir;
}

/** Reads the secret kept in `file`, creating it (32 random bytes, 0600) when there is none. Safe when two start at once. */
export function readOrCreateSecret(file: string): string {
  const temporary = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`;
  writeFileSync(temporary, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600, flag: 'wx', flush: true });
  try {
    linkSync(temporary, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(temporary, { force: true });
  }
  return readFileSync(file, 'utf8').trim();
}
