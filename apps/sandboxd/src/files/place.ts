import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readlink } from 'node:fs/promises';
import { bytesOfName, shownName } from '@svc/contract';
import { NodeError } from '../error.ts';

/** Not in the constants of Node.js; the same on every processor that it runs on under Linux. */
const O_PATH = 0o10000000;
const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;

/** Longest path that is taken (spec). */
export const longestPath = 1024;

/** Where the workspace is inside. */
const mountedAt = '/workspace';
/** As many links as Linux follows in one path. */
const mostLinks = 40;

/**
 * The components of a path of a workspace, relative or as it is inside (`/workspace/…`); `[]` is the workspace. Throws
 * `bad_request` for what leads elsewhere.
 */
export function componentsOf(given: string): string[] {
  const path = given === mountedAt || given.startsWith(`${mountedAt}/`) ? given.slice(mountedAt.length + 1) : given;
  if (path.length > longestPath) throw new NodeError('bad_request', `a path has at most ${longestPath} characters`);
  if (path.includes('\0')) throw new NodeError('bad_request', 'a path has no NUL in it');
  if (path.startsWith('/')) {
    throw new NodeError('bad_request', 'a path is relative to /workspace, or begins with /workspace/');
  }
  const components = path.split('/').filter((component) => component !== '' && component !== '.');
  if (components.includes('..')) throw new NodeError('bad_request', 'a path must stay inside of /workspace');
  if (components.some((component) => (bytesOfName(component)?.length ?? Buffer.byteLength(component)) > 255)) {
    throw new NodeError('bad_request', 'a name has at most 255 bytes');
  }
  return components;
}

/** Path of `name` in an open directory. Linux goes on from the descriptor, wherever the directory is now. */
export function inside(directory: FileHandle, name: string): string {
  return `/proc/self/fd/${directory.fd}/${name}`;
}

/** The same of a name by its bytes. */
export const insideAs = (directory: FileHandle, name: Uint8Array): Buffer =>
  Buffer.concat([Buffer.from(inside(directory, '')), name]);

/** Where a name is that was asked for: at its text, or at the bytes that it is shown for where only those are there. */
export async function find(directory: FileHandle, name: string): Promise<string | Buffer> {
  const path = inside(directory, name);
  const bytes = bytesOfName(name);
  if (bytes === undefined || (await isThere(path))) return path;
  const other = insideAs(directory, bytes);
  return (await isThere(other)) ? other : path;
}

const isThere = (path: string | Buffer): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );

/** The open directory or file itself. */
export function itself(handle: FileHandle): string {
  return `/proc/self/fd/${handle.fd}`;
}

/** A directory that was found, open, and the way to it once every link is followed. */
export interface Place {
  directory: FileHandle;
  components: string[];
}

/**
 * Opens the directory at `components` below `root`, one component after the other: code inside may put a link anywhere
 * between two looks, so none is ever followed by Linux. A link is read instead, and its target is walked in the same way
 * from where it stands, or from `root` when it says `/workspace/…`; one that leads out is `not_found`, as is a file on the
 * way, and every link unless `follow`. The descriptor names the directory and reads nothing. `make` creates what is missing,
 * for that owner, and a file on the way is `bad_request`.
 */
export async function openDirectory(
  root: string | Buffer,
  components: readonly string[],
  make?: { uid: number },
  follow = true,
): Promise<Place> {
  const way: { handle: FileHandle; name: string }[] = [];
  const close = async (from: number): Promise<void> => {
    for (const { handle } of way.splice(from)) await handle.close();
  };
  const rest = [...components];
  let links = 0;
  way.push({ handle: await open(root, O_PATH | O_DIRECTORY | O_NOFOLLOW), name: '' });
  try {
    for (let name = rest.shift(); name !== undefined; name = rest.shift()) {
      const at = way.at(-1)?.handle as FileHandle;
      if (name === '..') {
        // Only a link says so.
        if (way.length === 1) throw notFound(components.join('/'));
        await close(way.length - 1);
        continue;
      }
      const found = await step(at, name, make).catch(async (error: unknown) => {
        const target = follow ? await linkAt(at, name) : undefined;
        if (target !== undefined) return target;
        throw make && isNoDirectory(error) ? onTheWay(name) : error;
      });
      if (typeof found !== 'string') {
        way.push({ handle: found, name });
        continue;
      }
      links += 1;
      if (links > mostLinks) throw notFound(components.join('/'));
      if (found.startsWith('/')) await close(1);
      rest.unshift(...stepsOf(found));
    }
    const last = way.pop();
    await Promise.all(way.map(({ handle }) => handle.close()));
    const names = [...way, ...(last ? [last] : [])].slice(1).map(({ name }) => name);
    return { directory: last?.handle as FileHandle, components: names };
  } catch (error) {
    await close(0);
    throw error;
  }
}

/** The target of a symbolic link; undefined for anything else. */
export async function linkAt(at: FileHandle, name: string): Promise<string | undefined> {
  const target = readlink(await find(at, name), { encoding: 'buffer' });
  return await target.then(shownName, () => undefined);
}

/** The steps of a link's target; throws `not_found` for one that begins elsewhere. */
export function stepsOf(target: string): string[] {
  if (target.startsWith('/') && target !== mountedAt && !target.startsWith(`${mountedAt}/`)) throw notFound(target);
  const path = target.startsWith('/') ? target.slice(mountedAt.length) : target;
  return path.split('/').filter((component) => component !== '' && component !== '.');
}

async function step(at: FileHandle, name: string, make: { uid: number } | undefined): Promise<FileHandle> {
  const path = await find(at, name);
  let made = false;
  if (make) {
    try {
      await mkdir(path, 0o755);
      made = true;
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
    }
  }
  const next = await openAs(path, O_PATH | O_DIRECTORY | O_NOFOLLOW, name);
  if (!made || !make || process.getuid?.() !== 0) return next;
  try {
    // Through a descriptor that can: fchown refuses one of O_PATH.
    const writable = await open(itself(next), O_RDONLY | O_DIRECTORY);
    try {
      await writable.chown(make.uid, make.uid);
      await writable.chmod(0o755);
    } finally {
      await writable.close();
    }
    return next;
  } catch (error) {
    await next.close();
    throw error;
  }
}

/**
 * Opens a regular file of an open directory for reading. It is looked at through a descriptor that opens nothing, then
 * that very inode is opened: a FIFO, socket or device is never opened, also not one that is swapped in meanwhile.
 */
export async function openRegular(directory: FileHandle, name: string): Promise<FileHandle> {
  const seen = await openAs(await find(directory, name), O_PATH | O_NOFOLLOW, name);
  try {
    if (!(await seen.stat()).isFile()) throw notFound(name);
    return await open(itself(seen), O_RDONLY | O_NONBLOCK);
  } finally {
    await seen.close();
  }
}

/**
 * Opens for writing what is an ordinary file of the workspace: of its user, under one name, not read-only. Undefined for
 * everything else. Its inode is judged first, as for reading: code inside may have made a link to any file it can name.
 */
export async function openOwn(directory: FileHandle, name: string, uid: number): Promise<FileHandle | undefined> {
  const seen = await open(await find(directory, name), O_PATH | O_NOFOLLOW).catch(() => undefined);
  if (!seen) return undefined;
  try {
    const stats = await seen.stat();
    const isOwn = stats.isFile() && stats.nlink === 1 && stats.uid === uid && (stats.mode & 0o200) !== 0;
    return isOwn ? await open(itself(seen), O_WRONLY | O_NONBLOCK).catch(() => undefined) : undefined;
  } finally {
    await seen.close();
  }
}

async function openAs(path: string | Buffer, flags: number, name: string): Promise<FileHandle> {
  try {
    return await open(path, flags);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(codeOf(error) ?? '')) throw notFound(name, error);
    throw error;
  }
}

export function notFound(name: string, cause?: unknown): NodeError {
  return new NodeError('not_found', `there is no such file or directory: ${JSON.stringify(name)}`, { cause });
}

/** Where a path is made, what stands in its way is the caller's to name otherwise. */
const onTheWay = (name: string): NodeError =>
  new NodeError('bad_request', `a part of the path is a file, not a directory: ${JSON.stringify(name)}`);

const isNoDirectory = (error: unknown): boolean => error instanceof NodeError && codeOf(error.cause) === 'ENOTDIR';

export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
