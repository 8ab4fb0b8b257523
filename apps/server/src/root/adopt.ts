import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { clustersDir, systemDataDir } from '../postgres/datadir.ts';
import type { PlatformUser } from './user.ts';

/** Names that the platform keeps in its data dir. Not `sandboxd`: that stays root's, as the node agent does. */
const ofThePlatform =
  /^(?:blobs|spool|media|run|postgres|postgres\.new|postgres\.log|(?:owner|master)\.key.*|lane-.*\.key|running\..*json.*|start\.lock.*)$/;

/**
 * Gives the files of a data dir to the user that the platform becomes. The folder itself stays root's, sticky and writable for
 * the user's group: the platform makes files in it, and cannot put a folder of its own in the place of root's.
 */
export function adoptDataDir(dataDir: string, user: PlatformUser): void {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  // Before others may make files here: the name is root's from now on.
  makeRootFolder(join(dataDir, 'sandboxd'));
  if (dataDir === systemDataDir) makeRootFolder(clustersDir);
  give(dataDir, user, { has: (name) => ofThePlatform.test(name) });
  chownSync(dataDir, 0, user.gid);
  chmodSync(dataDir, dataDirMode);
  for (const name of readdirSync(dataDir)) if (forReading.test(name)) showTo(join(dataDir, name), user);
}

/** Files that root does what they say of, or that name files for root to read: the platform only reads them. */
const forReading = /^(?:settings\.env|providers\.json|prices\.json)$/;

function showTo(path: string, { gid }: PlatformUser): void {
  const found = lstatSync(path);
  if (!found.isFile() || found.uid !== 0) return;
  chownSync(path, 0, gid);
  chmodSync(path, 0o640);
}

/** Makes a folder of root, or throws where something else has its name. */
export function makeRootFolder(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found) mkdirSync(path, { mode: 0o700 });
  else if (!found.isDirectory() || found.uid !== 0)
    throw new Error(`${path} is no folder of root; look at what is in it, then: chown -R root ${path}, or remove it`);
}

/** Takes the folder back where nobody became that user: root goes on in it as before. */
export function leaveToRoot(dataDir: string): void {
  if (!lstatSync(dataDir, { throwIfNoEntry: false })) return;
  chownSync(dataDir, 0, 0);
  chmodSync(dataDir, 0o711);
}

/** Others may enter, as the database had to when the platform was root; what is in it is for its owner alone. */
export const dataDirMode = 0o1771;

/**
 * Gives a cluster that is kept apart from its data dir, with the folder of its socket, and nothing that lies beside them: an
 * operator may have moved it to a disk that holds more.
 */
export function adoptCluster(cluster: string, user: PlatformUser): void {
  const home = dirname(cluster);
  mkdirSync(join(home, 'run'), { recursive: true, mode: 0o700 });
  give(home, user, new Set([basename(cluster), `${basename(cluster)}.new`, 'run']));
  if (dirname(home) !== clustersDir) return;
  chownSync(home, 0, user.gid);
  chmodSync(home, dataDirMode);
}

/** Lets the user's group reach the socket of the node agent, in a folder that stays root's. */
export function openNodeFolder(folder: string, user: PlatformUser): void {
  chownSync(folder, 0, user.gid);
  chmodSync(folder, 0o710);
}

/** Notes, where only root can, in which folder the images of the platform's node are when a setting names one. */
export function noteImagesDir(dataDir: string, images: string | undefined): void {
  const note = join(dataDir, imagesNote);
  rmSync(note, { recursive: true, force: true });
  if (images === undefined) return;
  writeFileSync(note, `${images}\n`, { flag: 'wx' });
  chmodSync(note, 0o644);
}

/** That folder; undefined when root noted none. */
export function notedImagesDir(dataDir: string): string | undefined {
  const note = join(dataDir, imagesNote);
  const found = lstatSync(note, { throwIfNoEntry: false });
  return found?.isFile() && found.uid === 0 ? readFileSync(note, 'utf8').trim() : undefined;
}

const imagesNote = 'images.dir';

/** Links stay root's: in a sticky folder nobody else puts another in their place. */
function give(folder: string, { uid, gid }: PlatformUser, names: Pick<Set<string>, 'has'>): void {
  const paths = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => names.has(entry.name) && !entry.isSymbolicLink())
    .map(({ name }) => join(folder, name))
    .filter((path) => lstatSync(path).uid !== uid);
  if (paths.length > 0) execFileSync('chown', ['-Rh', `${uid}:${gid}`, '--', ...paths]);
}
