import { createHash, randomUUID } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { HostOpArgs } from '@svc/contract';
import { errnoOf, OpError } from '../failure.ts';
import { anchorFlags, assertInside, locate, onDisk, openInside, type Places, within } from '../places.ts';
import { defineOp } from './op.ts';

/** `write_file`. */
export const writeFile = defineOp('write_file', async (args, { places, signal }) => {
  const bytes = toBytes(args.content, args.encoding);
  const { real } = await locate(args.path, places);
  if (places.roots.includes(real)) throw new OpError('is_a_directory');
  const parent = dirname(real);
  await using directory = args.create_dirs
    ? await makeDirectories(parent, places)
    : await openInside(parent, anchorFlags, places);
  const target = await onDisk(within(directory, parent, basename(real)));
  const replaced = await fileAt(target);
  const temporary = within(directory, parent, `.svc-${randomUUID()}.tmp`);
  try {
    await writeNew(temporary, bytes, args.mode, replaced);
    if (signal.aborted) throw new OpError(String(signal.reason));
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  return { path: real, bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
});

function toBytes(content: string, as: HostOpArgs<'write_file'>['encoding']): Buffer {
  const bytes = Buffer.from(content, as);
  // Node.js reads base64 leniently and would drop what it does not know.
  if (as === 'base64' && bytes.toString('base64') !== content) throw new OpError('bad_args: content: not base64');
  return bytes;
}

/** The file that is replaced: a plain file or nothing. */
async function fileAt(path: string | Buffer): Promise<Stats | undefined> {
  try {
    const stats = await lstat(path);
    if (stats.isDirectory()) throw new OpError('is_a_directory');
    if (!stats.isFile()) throw new OpError('not_a_file');
    return stats;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

async function writeNew(path: string, bytes: Buffer, mode: number | undefined, replaced: Stats | undefined) {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  await using file = await open(path, flags, replaced ? 0o600 : 0o666);
  await file.writeFile(bytes);
  // Only a daemon of the superuser can; a file of someone else's then stays theirs.
  if (replaced) await file.chown(replaced.uid, replaced.gid).catch(() => {});
  const wanted = mode ?? (replaced ? replaced.mode & 0o777 : undefined);
  if (wanted !== undefined) await file.chmod(wanted);
  await file.sync();
}

/** Makes what is missing of the real path `path`, one step at a time from a directory that is known to be inside. */
async function makeDirectories(path: string, places: Places): Promise<FileHandle> {
  assertInside(path, places);
  const missing: string[] = [];
  let at = path;
  while (!(await isThere(at))) {
    missing.unshift(basename(at));
    at = dirname(at);
  }
  let handle = await openInside(at, anchorFlags, places);
  for (const name of missing) {
    const step = within(handle, at, name);
    try {
      await mkdir(step).catch((error) => {
        if (errnoOf(error) !== 'EEXIST') throw error;
      });
      const next = await openInside(step, anchorFlags, places);
      await handle.close();
      handle = next;
    } catch (error) {
      await handle.close();
      throw error;
    }
    at = join(at, name);
  }
  return handle;
}

async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(await onDisk(path));
    return true;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return false;
    throw error;
  }
}
