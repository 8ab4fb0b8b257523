import { isUtf8 } from 'node:buffer';
import { constants, type Stats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import type { HostOpArgs, HostOpResult } from '@svc/contract';
import { OpError } from '../failure.ts';
import { inspectFlags, locateExisting, openInside } from '../places.ts';
import { decodeWithin } from '../text.ts';
import { defineOp } from './op.ts';

/** Most bytes one `read_file` answers; as base64 they stay under the 12 MB of a result. */
const maxBytes = 8 * 1024 * 1024;
const maxJson = 11_500_000;

type Read = HostOpResult<'read_file'>;

/** The kind of a directory entry. */
export function typeOf(stats: Stats): HostOpResult<'stat'>['type'] {
  if (stats.isFile()) return 'file';
  if (stats.isDirectory()) return 'directory';
  return stats.isSymbolicLink() ? 'symlink' : 'other';
}

/** `stat`. */
export const statFile = defineOp('stat', async ({ path }, { places }) => {
  const real = await locateExisting(path, places);
  await using handle = await openInside(real, inspectFlags, places);
  const stats = await handle.stat();
  return {
    path: real,
    type: typeOf(stats),
    bytes: stats.size,
    mtime_ms: Math.trunc(stats.mtimeMs),
    mode: stats.mode & 0o7777,
  };
});

/** `read_file`. */
export const readFile = defineOp('read_file', async (args, { places, signal }) => {
  const real = await locateExisting(args.path, places);
  // Non-blocking: opening a FIFO would wait for its writer.
  const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;
  await assertFile(real, places);
  await using handle = await openInside(real, flags, places);
  const stats = await handle.stat();
  if (!stats.isFile()) throw new OpError('not_a_file');
  const wanted = Math.min(args.length ?? maxBytes, maxBytes);
  const read = await readBytes(handle, args.offset, wanted + 1, signal);
  const bytes = read.subarray(0, wanted);
  const decoded = decode(bytes, args.encoding, read.length > wanted);
  return { path: real, ...decoded, size: stats.size, truncated: decoded.bytes < read.length };
});

/** Looks before opening: to open some devices is already to act on them. */
async function assertFile(real: string, places: Parameters<typeof openInside>[2]): Promise<void> {
  await using handle = await openInside(real, inspectFlags, places);
  const stats = await handle.stat();
  if (stats.isDirectory()) throw new OpError('is_a_directory');
  if (!stats.isFile()) throw new OpError('not_a_file');
}

/** Reads until `length` bytes or the end: files of `/proc` tell no size and answer in pieces. */
async function readBytes(handle: FileHandle, offset: number, length: number, signal: AbortSignal): Promise<Buffer> {
  const size = (await handle.stat()).size;
  let buffer = Buffer.allocUnsafe(Math.min(length, Math.max(size - offset + 1, 65_536)));
  let filled = 0;
  while (filled < length) {
    if (signal.aborted) throw new OpError(String(signal.reason));
    if (filled === buffer.length) {
      buffer = Buffer.concat([buffer, Buffer.allocUnsafe(Math.min(buffer.length, length - filled))]);
    }
    const { bytesRead } = await handle.read(buffer, filled, buffer.length - filled, offset + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}

function decode(
  buffer: Buffer,
  wanted: HostOpArgs<'read_file'>['encoding'],
  cut: boolean,
): Pick<Read, 'content' | 'encoding' | 'bytes'> {
  if (wanted !== 'base64') {
    const { text, bytes } = decodeWithin(buffer, maxJson, cut);
    const whole = wanted === 'utf8' || isUtf8(buffer.subarray(0, bytes));
    // A read shorter than the character it starts in would answer nothing, and a reader in pieces never go on.
    if (whole && (bytes > 0 || buffer.length === 0)) return { content: text, encoding: 'utf8', bytes };
    if (wanted === 'utf8') return { content: buffer.toString('utf8'), encoding: 'utf8', bytes: buffer.length };
  }
  return { content: buffer.toString('base64'), encoding: 'base64', bytes: buffer.length };
}
