import { constants } from 'node:fs';
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { NodeError } from '../error.ts';

/** Not in the constants of Node.js; the same on every processor that it runs on under Linux. */
const O_PATH = 0o10000000;
const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

/** Longest path that is taken (spec). */
export const longestPath = 1024;

/** The components of a path below a workspace; `[]` is the workspace. Throws `bad_request` for what leads elsewhere. */
export function componentsOf(path: string): string[] {
  if (path.length > longestPath) throw new NodeError('bad_request', `a path has at most ${longestPath} characters`);
  if (path.includes('\0') || path.startsWith('/')) throw new NodeError('bad_request', 'not a relative path');
  const components = path.split('/').filter((component) => component !== '' && component !== '.');
  if (components.includes('..')) throw new NodeError('bad_request', 'a path must stay inside of /workspace');
  if (components.some((component) => Buffer.byteLength(component) > 255)) {
    throw new NodeError('bad_request', 'a name has at most 255 bytes');
  }
  return components;
}

/** What is called `name` in an open directory. Linux goes on from the descriptor, wherever the directory is now. */
export function inside(directory: FileHandle, name: string): string {
  return `/proc/self/fd/${directory.fd}/${name}`;
}

/** The open directory or file itself. */
export function itself(handle: FileHandle): string {
  return `/proc/self/fd/${handle.fd}`;
}

/**
 * Opens the directory at `components` below `root`, one component after the other, so that no symbolic link is ever
 * followed: code inside may put one anywhere between two looks. The descriptor names the directory and reads nothing.
 * A link or a file on the way is `not_found`. `make` creates what is missing, for that owner.
 */
export async function openDirectory(
  root: string,
  components: readonly string[],
  make?: { uid: number },
): Promise<FileHandle> {
  let at = await open(root, O_PATH | O_DIRECTORY | O_NOFOLLOW);
  try {
    for (const name of components) {
      const next = await step(at, name, make);
      await at.close();
      at = next;
    }
    return at;
  } catch (error) {
    await at.close();
    throw error;
  }
}

async function step(at: FileHandle, name: string, make: { uid: number } | undefined): Promise<FileHandle> {
  const path = inside(at, name);
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
  const seen = await openAs(inside(directory, name), O_PATH | O_NOFOLLOW, name);
  try {
    if (!(await seen.stat()).isFile()) throw notFound(name);
    return await open(itself(seen), O_RDONLY | O_NONBLOCK);
  } finally {
    await seen.close();
  }
}

async function openAs(path: string, flags: number, name: string): Promise<FileHandle> {
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

export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
