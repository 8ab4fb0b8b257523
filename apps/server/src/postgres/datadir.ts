import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Config } from '../config.ts';
import { giveToPlatform } from '../root/user.ts';
import { readIfThere } from './lock.ts';

/** Root of the clone or installed package: the parent of `apps/`. */
export const packageRoot = resolve(import.meta.dirname, '../../../..');

/** Where state is kept when `SVC_DATA_DIR` names no place. */
export const systemDataDir = '/var/lib/svc';
/** Where clusters are kept whose data directory the database's user cannot enter. */
export const clustersDir = join(systemDataDir, 'clusters');
const systemFolders = [systemDataDir, clustersDir];

/** Whether a user without privileges could enter `path` and every folder above it. */
export function enterableByAll(path: string): boolean {
  for (let folder = resolve(path); ; folder = dirname(folder)) {
    const stat = statSync(folder, { throwIfNoEntry: false });
    if (stat && (stat.mode & 0o001) === 0) return false;
    if (folder === dirname(folder)) return true;
  }
}

/** The settings that decide where the data directory is. */
type DataDirSettings = Pick<Config, 'dataDir' | 'databaseUrl'>;

const isRoot = (): boolean => process.getuid?.() === 0;

/**
 * Where the data directory is (setting `SVC_DATA_DIR`), else `.svc` of the clone or where a link of that name leads. Makes and
 * changes nothing: commands look at a running platform's.
 */
export function findDataDir({ dataDir, databaseUrl }: DataDirSettings): string {
  if (dataDir !== undefined) return dataDir;
  const isReached = !isRoot() || databaseUrl !== undefined || enterableByAll(packageRoot);
  return isReached ? followed(join(packageRoot, '.svc')) : systemDataDir;
}

/** One name for each place: who runs where is found by it. */
function followed(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/**
 * Creates and answers the data directory, and sets its mode: for `svc up` alone. As root it can be entered but not
 * listed by other users, because Postgres drops to another user; the secrets in it are 0600.
 */
export function openDataDir(settings: DataDirSettings): string {
  const dataDir = findDataDir(settings);
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  // One of a platform that was started as root stays root's, and has its mode.
  if (statSync(dataDir).uid === process.getuid?.())
    chmodSync(dataDir, modeOf(dataDir, settings.databaseUrl === undefined));
  return dataDir;
}

/** Creates the data directory if it is missing; the mode of an existing one belongs to the platform that made it. */
export function makeDataDir(settings: DataDirSettings): string {
  const dataDir = findDataDir(settings);
  if (!existsSync(dataDir)) mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  return dataDir;
}

/** A platform beside this one may keep its database in the same directory, whatever this one uses. */
function modeOf(dataDir: string, embeddedDatabase: boolean): number {
  const holdsDatabase = embeddedDatabase || lstatSync(join(dataDir, 'postgres'), { throwIfNoEntry: false });
  return isRoot() && holdsDatabase ? 0o711 : 0o700;
}

/**
 * Lets the database's user into the folders above its cluster again, after somebody closed them; answers those it
 * opened. Without this the running Postgres panics at its next checkpoint and cannot start again.
 */
export function repairModes(cluster: string): string[] {
  if (!isRoot()) return [];
  const ours = [dirname(cluster), ...(cluster.startsWith(`${systemDataDir}/`) ? systemFolders : [])];
  return [...new Set(ours)].filter((folder) => {
    const mode = statSync(folder, { throwIfNoEntry: false })?.mode;
    if (mode === undefined || (mode & 0o111) === 0o111) return false;
    chmodSync(folder, (mode & 0o777) | 0o111);
    return true;
  });
}

/**
 * Reads the secret kept in `file`, creating the file (0600, 32 random bytes unless given) if it is missing. Safe when two start
 * at once.
 */
export function readOrCreateSecret(file: string, secret = randomBytes(32).toString('base64url')): string {
  const temporary = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`;
  writeFileSync(temporary, `${secret}\n`, { mode: 0o600, flag: 'wx', flush: true });
  giveToPlatform(temporary);
  try {
    linkSync(temporary, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(temporary, { force: true });
  }
  syncFolder(dirname(file));
  return readFileSync(file, 'utf8').trim();
}

/** Brings names in a folder to disk: a file that was made or renamed there is else lost with the power. */
export function syncFolder(folder: string): void {
  const open = openSync(folder, 'r');
  try {
    fsyncSync(open);
  } finally {
    closeSync(open);
  }
}

/** Reads the secret kept in `file`, if there is one. */
export const readSecret = (file: string): string | undefined => readIfThere(file)?.trim();
