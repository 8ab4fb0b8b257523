import { createHash, randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { copyFile, type FileHandle, lstat, open, rename, unlink } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { NodeError } from '../error.ts';
import type { Files } from '../parts.ts';
import { codeOf, componentsOf, find, inside, itself, openDirectory, openOwn, type Place } from './place.ts';

/** The body is over `mostBytes`; nothing was written. */
export class FileTooLarge extends NodeError {
  override name = 'FileTooLarge';
}

const removed = 'the file or its directory was replaced or removed while it was written; send it again';

/** Writes a file of a workspace, whole or not at all. */
export const write: Files['write'] = async (root, path, body, options) => {
  try {
    const components = componentsOf(path);
    const name = components.pop();
    if (name === undefined || path.endsWith('/')) throw new NodeError('bad_request', 'a file needs a name');
    const place = await openDirectory(root, components, { uid: options.uid });
    try {
      return { path: [...components, name].join('/'), ...(await writeInto(place, name, body, options)) };
    } finally {
      await place.directory.close();
    }
  } catch (error) {
    // The body is left as it is: to destroy a request would end the connection that the refusal has to go back on.
    const code = codeOf(error) ?? '';
    if (code === 'ENOSPC' || code === 'EDQUOT') {
      throw new NodeError('workspace_too_large', 'the workspace is full', { cause: error });
    }
    if (code === 'EISDIR' || code === 'ENOTEMPTY') {
      throw new NodeError('bad_request', 'there is a directory of that name', { cause: error });
    }
    if (code === 'ENOENT') throw new NodeError('bad_request', removed, { cause: error });
    throw error;
  }
};

/**
 * A fresh file that nobody else can open (0600, ours) takes all bytes first, so that a body that breaks off, or is too
 * much, changes nothing. What has the name already, if it is an ordinary file, then gets them: who has it open goes on
 * with the same file, and a snapshot can bring it back. A reader in that instant may see it empty, or where the file system
 * shares no blocks a part of it. If the copy fails, or there is nothing that may be written to, the fresh file takes the
 * name.
 */
async function writeInto(
  { directory, components }: Place,
  name: string,
  body: Readable,
  { uid, readOnly, mostBytes, announce }: Parameters<Files['write']>[3],
): Promise<{ bytes: number; sha256: string }> {
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_RDWR } = constants;
  const own = `.upload-${randomBytes(16).toString('hex')}`;
  const temporary = inside(directory, own);
  const target = await find(directory, name);
  // What is said to the agent is text.
  const tell = typeof target === 'string' ? announce : undefined;
  const below = (last: string): string => [...components, last].join('/');
  const handle = await open(temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  try {
    const hash = createHash('sha256');
    let bytes = 0;
    for await (const chunk of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > mostBytes) throw new FileTooLarge('workspace_too_large', `a file has at most ${mostBytes} bytes`);
      hash.update(chunk);
      for (let at = 0; at < chunk.length; ) at += (await handle.write(chunk, at)).bytesWritten;
    }
    const written = { bytes, sha256: hash.digest('hex') };
    if (!readOnly && (await replaceContent(directory, name, handle, uid))) {
      await unlink(temporary);
      await tell?.(below(name));
      return written;
    }
    if (process.getuid?.() === 0) await handle.chown(uid, uid);
    await handle.chmod(readOnly ? 0o444 : 0o644);
    if (!(await tell?.(below(name), below(own)))) await takeName(temporary, target);
    await checkNamed(target, handle);
    return written;
  } catch (error) {
    await unlink(temporary).catch(() => {});
    throw error;
  } finally {
    await handle.close();
  }
}

/** Renames, unless an agent that answered too late did so already: who has the name is looked at afterwards. */
async function takeName(from: string, to: string | Buffer): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
}

/** Gives the file that has the name the content of another, and keeps its mode; false when that cannot be. */
async function replaceContent(directory: FileHandle, name: string, from: FileHandle, uid: number): Promise<boolean> {
  const own = await openOwn(directory, name, uid);
  if (!own) return false;
  try {
    // A copy takes mode and owner of what it is copied from.
    const { mode, gid } = await own.stat();
    if (process.getuid?.() === 0) await from.chown(uid, gid);
    await from.chmod(mode & 0o777);
    await copyFile(itself(from), itself(own), constants.COPYFILE_FICLONE);
  } catch {
    return false;
  } finally {
    await own.close();
  }
  return true;
}

/** Code inside owns the directory: it may have put something else under the temporary name. */
async function checkNamed(target: string | Buffer, handle: FileHandle): Promise<void> {
  const [written, named] = [await handle.stat(), await lstat(target).catch(() => undefined)];
  if (named?.ino !== written.ino) throw new NodeError('bad_request', removed);
}
