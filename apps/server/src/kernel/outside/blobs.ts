import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { randomUUID } from 'node:crypto';
import { ApiError } from '../base/errors.ts';

/** Bytes of a blob from `start`, at most `end` inclusive. */
export interface ByteRange {
  start: number;
  end?: number;
}

/**
 * Named byte sequences: files in the data directory, or S3 (setting `SVC_S3_BUCKET`). A name is made of
 * `[A-Za-z0-9._-]` segments joined by `/`. Writing replaces whole: a reader sees the old bytes or the new ones.
 */
export interface Blobs {
  /** Stores the bytes and answers their number; durable when it resolves. */
  put(name: string, body: Readable | Uint8Array): Promise<number>;
  /** Undefined when there is no such blob. */
  get(name: string, range?: ByteRange): Promise<{ body: Readable; bytes: number } | undefined>;
  /** Size, or undefined when there is no such blob. */
  size(name: string): Promise<number | undefined>;
  /** Deleting what is not there is fine. */
  delete(name: string): Promise<void>;
  /** Names that begin with `prefix`, which ends in `/` or is empty, sorted. */
  list(prefix: string): Promise<string[]>;
}

/** 500 with what to do for a file whose row is there: an empty answer would pass for an empty file. */
export const missingBlob = (what: string): ApiError =>
  new ApiError(
    'internal_error',
    `${what} is missing in the store of this platform; its operator finds why: ./svc doctor`,
  );

/** Waits in memory for the disk: with 64 KiB every chunk waits for the one before, and 8 MiB cost 38 ms of CPU, not 21. */
const writeBytes = 1024 * 1024;

/** Throws unless `name` keeps to the alphabet above; what it lets through cannot leave the store. */
export function checkBlobName(name: string): void {
  const segments = name.split('/');
  if (name.length > 512 || segments.some((segment) => !/^(?!\.)[A-Za-z0-9._-]+$/.test(segment))) {
    throw new Error(`malformed blob name: ${JSON.stringify(name)}`);
  }
}

/** Blobs as files below `root`; what was left unfinished a day before `now` (epoch milliseconds) is removed. A blob is written beside its place, synced, then renamed. */
export function openFileBlobs(root: string, now?: number): Blobs {
  if (now !== undefined) sweepUnfinished(join(root, 'unfinished'), now - 24 * 3_600_000).catch(() => {});
  const place = (name: string): string => {
    checkBlobName(name);
    return join(root, 'data', name);
  };
  return {
    async put(name, body) {
      const file = place(name);
      const unfinished = join(root, 'unfinished', randomUUID());
      await mkdir(dirname(file), { recursive: true, mode: 0o700 });
      await mkdir(dirname(unfinished), { recursive: true, mode: 0o700 });
      try {
        const handle = await open(unfinished, 'wx', 0o600);
        await pipeline(
          body instanceof Readable ? body : Readable.from([body]),
          handle.createWriteStream({ flush: true, highWaterMark: writeBytes }),
        );
        const { size } = await stat(unfinished);
        await rename(unfinished, file);
        await syncFolder(dirname(file));
        return size;
      } catch (error) {
        await rm(unfinished, { force: true });
        throw error;
      }
    },
    async get(name, range) {
      const file = place(name);
      const handle = await open(file, 'r').catch(ifMissing);
      if (!handle) return undefined;
      const found = await handle.stat();
      if (!found.isFile()) {
        await handle.close();
        return undefined;
      }
      const { size } = found;
      const start = range?.start ?? 0;
      const end = Math.min(range?.end ?? size - 1, size - 1);
      if (start > end) {
        await handle.close();
        return { body: Readable.from([]), bytes: 0 };
      }
      return { body: createReadStream(file, { fd: handle, start, end }), bytes: end - start + 1 };
    },
    async size(name) {
      const found = await stat(place(name)).catch(ifMissing);
      return found?.isFile() ? found.size : undefined;
    },
    async delete(name) {
      await rm(place(name), { force: true });
    },
    async list(prefix) {
      const folder = prefix === '' ? join(root, 'data') : place(prefix.replace(/\/$/, ''));
      const entries = (await readdir(folder, { recursive: true, withFileTypes: true }).catch(ifMissing)) ?? [];
      const files = entries.filter((entry) => entry.isFile());
      return files.map((entry) => join(entry.parentPath, entry.name).slice(join(root, 'data').length + 1)).sort();
    },
  };
}

/** Removes what a process that died was writing; a day is longer than any upload. */
async function sweepUnfinished(folder: string, before: number): Promise<void> {
  for (const name of (await readdir(folder).catch(ifMissing)) ?? []) {
    const file = join(folder, name);
    const found = await stat(file).catch(ifMissing);
    if (found && found.mtimeMs < before) await rm(file, { force: true });
  }
}

/** A rename is durable only once its folder is. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function ifMissing(error: NodeJS.ErrnoException): undefined {
  // ENOTDIR: a blob stands where the name wants a folder.
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
  throw error;
}
