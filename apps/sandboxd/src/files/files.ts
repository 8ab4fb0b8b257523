import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import type { Stats } from 'node:fs';
import { type FileHandle, lstat, opendir } from 'node:fs/promises';
import { PassThrough, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { FileEntry } from '@svc/sandboxd-api';
import { shownName } from '@svc/contract';
import { NodeError } from '../error.ts';
import type { Files } from '../parts.ts';
import { exited } from '../run.ts';
import {
  codeOf,
  componentsOf,
  insideAs,
  itself,
  linkAt,
  longestPath,
  notFound,
  openDirectory,
  openRegular,
  stepsOf,
} from './place.ts';
import { hasChanged } from './changes.ts';
import { write } from './write.ts';

/** Entries that a listing or a walk answers at most; more are refused. */
export const mostEntries = 10_000;
/** Directories below each other that a walk enters. */
const deepest = 64;
/** A file with holes may say any length; no workspace holds as much as this, and its hash takes 2 to 5 s of a core. */
const mostRead = 2.25 * 1024 ** 3;
const chunkBytes = 512 * 1024;

/**
 * Files of workspaces. Links that stay inside lead where they do inside; what is behind one that leads out is `not_found`.
 * A walk follows none. `most` is the bytes of a file that are read, and of all that are hashed after a command.
 */
export function createFiles(most = mostRead): Files {
  return {
    write,
    async read(root, path) {
      const handle = await openFile(root, path);
      const { size: bytes } = await handle.stat();
      if (bytes === 0 || bytes > most) {
        await handle.close();
        if (bytes > 0) throw new NodeError('workspace_too_large', `a file of more than ${most} bytes is not read`);
        return { bytes, body: Readable.from([]) };
      }
      // A file that grows meanwhile gives what it had; one that shrinks ends early.
      return { bytes, body: handle.createReadStream({ start: 0, end: bytes - 1 }) };
    },
    async list(root, path) {
      const components = componentsOf(path);
      const { directory } = await openDirectory(root, components);
      try {
        const found = await entriesOf(directory, components.join('/'), mostEntries + 1);
        if (found.length > mostEntries) throw tooMany();
        return found.map(({ entry }) => entry).sort(byPath);
      } finally {
        await directory.close();
      }
    },
    async walk(root, path) {
      const { found, isWhole } = await walk(root, path);
      if (!isWhole) throw tooMany();
      return found.map(({ entry }) => entry);
    },
    changed: (root, path, sinceMs, signal) => changed(root, path, sinceMs, most, signal),
    hasChanged,
    archive,
  };
}

const tooMany = (): NodeError =>
  new NodeError(
    'workspace_too_large',
    `there are more than ${mostEntries} entries, or ${deepest} directories below each other; ask for a part, or pack them`,
  );

interface Found {
  entry: FileEntry;
  stats: Stats;
  name: Buffer;
}

/** Opens a regular file; as the last part of a path a link counts as on the way. */
async function openFile(root: string, path: string): Promise<FileHandle> {
  let asked = componentsOf(path);
  for (let links = 0; links <= mostLinks; links += 1) {
    const name = asked.at(-1);
    if (name === undefined) throw notFound(path);
    const { directory, components } = await openDirectory(root, asked.slice(0, -1));
    try {
      const target = await linkAt(directory, name);
      if (target === undefined) return await openRegular(directory, name);
      const steps = stepsOf(target);
      asked = target.startsWith('/') ? steps : [...components, ...steps];
      // It may end in the directory above.
      if (steps.at(-1) === '..') throw notFound(path);
    } finally {
      await directory.close();
    }
  }
  throw notFound(path);
}

const mostLinks = 40;

/** The regular files below a directory; `isWhole` is false when there are more, or some lie deeper. */
async function walk(root: string, path: string): Promise<{ found: Found[]; isWhole: boolean }> {
  const components = componentsOf(path);
  const found: Found[] = [];
  let left = mostEntries + 1;
  let isWhole = true;
  const enter = async (directory: FileHandle, at: string, depth: number): Promise<void> => {
    for (const one of await entriesOf(directory, at, left)) {
      left -= 1;
      if (one.entry.type === 'file') found.push(one);
      if (one.entry.type !== 'directory') continue;
      if (depth >= deepest || left <= 0) {
        isWhole = false;
        continue;
      }
      const next = await openDirectory(insideAs(directory, one.name), []).catch(ignoreGone);
      if (!next) continue;
      try {
        await enter(next.directory, one.entry.path, depth + 1);
      } finally {
        await next.directory.close();
      }
    }
  };
  const top = await openDirectory(root, components, undefined, false).catch(ignoreGone);
  if (!top) return { found, isWhole };
  try {
    await enter(top.directory, components.join('/'), 0);
  } finally {
    await top.directory.close();
  }
  return { found: found.sort((a, b) => byPath(a.entry, b.entry)), isWhole: isWhole && left > 0 };
}

/** Entries of an open directory; leaves out paths too long to ask for. */
async function entriesOf(directory: FileHandle, at: string, most: number): Promise<Found[]> {
  const names: { name: Buffer; path: string }[] = [];
  // The types of Node.js know names as bytes of readdir only, which has no limit.
  const entries = await opendir(itself(directory), { encoding: 'buffer' as BufferEncoding });
  for await (const entry of entries) {
    if (names.length >= most) break;
    const name = entry.name as unknown as Buffer;
    const path = at ? `${at}/${shownName(name)}` : shownName(name);
    if (path.length <= longestPath) names.push({ name, path });
  }
  const found: Found[] = [];
  for (let i = 0; i < names.length; i += 64) {
    const looks = names.slice(i, i + 64).map(async ({ name, path }) => {
      const stats = await lstat(insideAs(directory, name)).catch(ignoreGone);
      if (stats) found.push({ entry: entryOf(path, stats), stats, name });
    });
    await Promise.all(looks);
  }
  return found;
}

function entryOf(path: string, stats: Stats): FileEntry {
  const type = stats.isFile()
    ? 'file'
    : stats.isDirectory()
      ? 'directory'
      : stats.isSymbolicLink()
        ? 'symlink'
        : 'other';
  // Code inside sets any time it likes, also one that RFC 3339 cannot say.
  const mtime = new Date(Math.min(Math.max(stats.mtimeMs, 0), Date.UTC(9999, 11, 31))).toISOString();
  return { path, bytes: stats.size, type, mtime };
}

/** In the order of their paths, as many as fit `most` bytes together; the hard links of an inode count once. */
async function changed(root: string, path: string, sinceMs: number, most: number, signal?: AbortSignal) {
  const { found } = await walk(root, path);
  const hashes = new Map<string, Hashed | undefined>();
  const files: ({ path: string } & Hashed)[] = [];
  // One for all: a stream of its own costs 1 to 3 ms a file, half a minute for as many as there may be.
  const buffer = Buffer.allocUnsafe(chunkBytes);
  let left = most;
  for (const { entry, stats } of found.filter(({ stats }) => stats.ctimeMs >= sinceMs)) {
    signal?.throwIfAborted();
    const inode = `${stats.dev}:${stats.ino}`;
    if (!hashes.has(inode) && stats.size <= left) {
      const hashed = await hashOf(root, entry.path, { buffer, most: left, signal });
      left -= hashed?.bytes ?? 0;
      hashes.set(inode, hashed);
    }
    const hashed = hashes.get(inode);
    if (hashed) files.push({ path: entry.path, ...hashed });
  }
  return files;
}

interface Hashed {
  sha256: string;
  bytes: number;
}

/** Undefined when it is gone, or grew over `most` bytes. */
async function hashOf(
  root: string,
  path: string,
  { buffer, most, signal }: { buffer: Buffer; most: number; signal: AbortSignal | undefined },
): Promise<Hashed | undefined> {
  const handle = await openFile(root, path).catch(ignoreGone);
  if (!handle) return undefined;
  try {
    const hash = createHash('sha256');
    let bytes = 0;
    for (;;) {
      signal?.throwIfAborted();
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, null);
      if (bytesRead === 0) return { sha256: hash.digest('hex'), bytes };
      hash.update(buffer.subarray(0, bytesRead));
      bytes += bytesRead;
      if (bytes > most) return undefined;
    }
  } finally {
    await handle.close();
  }
}

/** Sparse: a hole of an exabyte takes no time. FIFOs and links are entries of their own kind, sockets are left out. */
function archive(root: string): Readable {
  const flags = ['-c', '--format=posix', '--sparse', '--one-file-system', '--numeric-owner', '--warning=none'];
  const child = spawn('tar', [...flags, '-C', root, '.'], { stdio: ['ignore', 'pipe', 'pipe'] });
  const out = new PassThrough();
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(0, 4096);
  });
  const finish = async () => {
    const [code] = await Promise.all([exited(child), pipeline(child.stdout, out, { end: false })]);
    // 1: a file changed while it was read; the archive is whole.
    if (code !== 0 && code !== 1) throw new Error(complaint.split('\n')[0] || `tar ended with ${code ?? 'a signal'}`);
    out.end();
  };
  finish().catch((error: unknown) => {
    child.kill('SIGKILL');
    out.destroy(error instanceof Error ? error : new Error(String(error)));
  });
  return out;
}

function ignoreGone(error: unknown): undefined {
  if (error instanceof NodeError && error.code === 'not_found') return undefined;
  if (['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES'].includes(codeOf(error) ?? '')) return undefined;
  throw error;
}

const byPath = (a: FileEntry, b: FileEntry) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0);
