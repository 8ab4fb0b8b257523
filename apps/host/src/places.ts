import { constants } from 'node:fs';
import { type FileHandle, lstat, open, readlink, realpath } from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { bytesOfName, shownName } from '@svc/contract';
import { errnoOf, OpError, toOpError } from './failure.ts';

/** The part of the file system that operations may touch. All paths real: absolute, without symlinks. */
export interface Places {
  /** At least one; relative paths start at the first. */
  readonly roots: readonly string[];
  /** The daemon's own files, refused even inside a root: writing the policy would allow everything. */
  readonly hidden: readonly string[];
}

const linux = process.platform === 'linux';
/** Opens a name for reaching it without reading it (`O_PATH`); node does not export the constant. */
const pathOnly = linux ? 0o10000000 : constants.O_RDONLY;
const maxLinks = 40;

/** Flags that open a directory as the anchor of further steps. */
export const anchorFlags = pathOnly | constants.O_DIRECTORY;
/** Flags that open anything for `stat` only, without read permission or side effects. */
export const inspectFlags = pathOnly;

/**
 * The real path of what `path` names, with every symlink followed, whether it is there or not. Throws `OpError`
 * `outside_roots` before it tells anything else about a path outside the roots.
 */
export async function locate(path: string, places: Places): Promise<{ real: string; exists: boolean }> {
  const found = await follow(resolve(places.roots[0] ?? '/', path));
  assertInside(found.real, places);
  if (found.fault !== undefined && found.fault !== 'ENOENT' && found.fault !== 'ENOTDIR')
    throw toOpError({ code: found.fault });
  return { real: found.real, exists: found.fault === undefined };
}

/** Like `locate` for something that must be there: else `not_found`. */
export async function locateExisting(path: string, places: Places): Promise<string> {
  const { real, exists } = await locate(path, places);
  if (!exists) throw new OpError('not_found');
  return real;
}

/**
 * Opens the real path `real` and checks that what was opened lies inside the roots: a directory on the way may have
 * been swapped for a symlink since `locate`.
 */
export async function openInside(real: string, flags: number, places: Places): Promise<FileHandle> {
  const handle = await open(await onDisk(real), flags | constants.O_NOFOLLOW);
  try {
    assertInside(await openedPath(handle, real), places);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/**
 * A path to `name` in the directory that `handle` holds open. On Linux it cannot be led elsewhere by renaming or
 * replacing a directory; other systems have no such path and get the plain one.
 */
export function within(handle: FileHandle, real: string, name: string): string {
  return linux ? `/proc/self/fd/${handle.fd}/${name}` : join(real, name);
}

/** The directory that `handle` holds open, as a path. */
export function anchorPath(handle: FileHandle, real: string): string {
  return linux ? `/proc/self/fd/${handle.fd}` : real;
}

/** Throws `OpError` unless `real` lies inside a root (`outside_roots`) and is not the daemon's (`refused_by_policy`). */
export function assertInside(real: string, places: Places): void {
  if (!places.roots.some((root) => isWithin(real, root))) throw new OpError('outside_roots');
  // A process's directory shows its environment, which may hold the key, and leads out of any root.
  const ofProcess = linux && /^\/proc\/\d+(\/|$)/.test(real);
  if (ofProcess || places.hidden.some((path) => isWithin(real, path))) throw new OpError('refused_by_policy');
}

function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory === '/' ? '/' : `${directory}/`);
}

/** Where a path is: each name at its text, or at the bytes that it is shown for where only those are there. */
export async function onDisk(path: string): Promise<string | Buffer> {
  if (bytesOfName(path) === undefined) return path;
  let found: Buffer = Buffer.alloc(0);
  for (const name of path.split('/').filter((one) => one !== '')) {
    const step = (bytes: Uint8Array): Buffer => Buffer.concat([found, Buffer.from('/'), bytes]);
    const [plain, bytes] = [step(Buffer.from(name)), bytesOfName(name)];
    const isOther = bytes !== undefined && !(await isThere(plain)) && (await isThere(step(bytes)));
    found = isOther ? step(bytes) : plain;
  }
  return found;
}

const isThere = (path: Buffer): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );

async function openedPath(handle: FileHandle, real: string): Promise<string> {
  return linux ? readlink(`/proc/self/fd/${handle.fd}`) : realpath(real);
}

/** `realpath` that goes on where nothing is there: a dangling link names the place it points to. */
async function follow(path: string): Promise<{ real: string; fault?: string }> {
  const pending = path.split('/');
  let real = '/';
  let links = 0;
  for (let name = pending.shift(); name !== undefined; name = pending.shift()) {
    if (name === '' || name === '.') continue;
    if (name === '..') {
      real = dirname(real);
      continue;
    }
    const next = join(real, name);
    try {
      const path = await onDisk(next);
      if (!(await lstat(path)).isSymbolicLink()) {
        real = next;
        continue;
      }
      links += 1;
      if (links > maxLinks) return { real: next, fault: 'ELOOP' };
      const target = shownName(await readlink(path, { encoding: 'buffer' }));
      if (isAbsolute(target)) real = '/';
      pending.unshift(...target.split('/'));
    } catch (error) {
      return { real: join(next, ...pending), fault: errnoOf(error) ?? 'EIO' };
    }
  }
  return { real };
}
