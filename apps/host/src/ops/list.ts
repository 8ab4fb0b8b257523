import { constants } from 'node:fs';
import { lstat, opendir } from 'node:fs/promises';
import { type HostOpResult, shownName } from '@svc/contract';
import { errnoOf, OpError } from '../failure.ts';
import { anchorPath, locateExisting, openInside } from '../places.ts';
import { typeOf } from './files.ts';
import { defineOp } from './op.ts';

const maxEntries = 10_000;
/** JSON bytes of all entries; names of control characters take six times their length. */
const maxJson = 11_500_000;
const parallel = 64;

type Entry = HostOpResult<'list_dir'>['entries'][number];

/** `list_dir`. */
export const listDirectory = defineOp('list_dir', async (args, { places, signal }) => {
  const real = await locateExisting(args.path, places);
  const flags = constants.O_RDONLY | constants.O_DIRECTORY;
  await using handle = await openInside(real, flags, places).catch((error) => {
    throw errnoOf(error) === 'ENOTDIR' ? new OpError('not_a_directory') : error;
  });
  const directory = anchorPath(handle, real);
  const { names, more } = await readNames(directory);
  const entries: Entry[] = [];
  for (let at = 0; at < names.length; at += parallel) {
    if (signal.aborted) throw new OpError(String(signal.reason));
    const some = await Promise.all(names.slice(at, at + parallel).map((name) => inspect(directory, name)));
    entries.push(...some.filter((entry) => entry !== undefined));
  }
  const fitting = fit(entries);
  return { entries: fitting.toSorted(byName), truncated: more || fitting.length < entries.length };
});

/** Names as bytes: one that is not UTF-8 could not be looked up by its text. */
async function readNames(path: string): Promise<{ names: Buffer[]; more: boolean }> {
  const names: Buffer[] = [];
  // The types of node know `encoding: 'buffer'` for readdir only, which has no limit.
  const directory = await opendir(path, { encoding: 'buffer' as BufferEncoding, bufferSize: 256 });
  for await (const { name } of directory) {
    if (names.length === maxEntries) return { names, more: true };
    names.push(name as unknown as Buffer);
  }
  return { names, more: false };
}

/** Undefined for an entry that is gone by now. */
async function inspect(directory: string, name: Buffer): Promise<Entry | undefined> {
  try {
    const stats = await lstat(Buffer.concat([Buffer.from(`${directory}/`), name]));
    return {
      name: shownName(name),
      type: typeOf(stats),
      bytes: stats.size,
      mtime_ms: Math.trunc(stats.mtimeMs),
    };
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function fit(entries: Entry[]): Entry[] {
  let size = 0;
  const end = entries.findIndex((entry) => {
    size += Buffer.byteLength(JSON.stringify(entry)) + 1;
    return size > maxJson;
  });
  return end === -1 ? entries : entries.slice(0, end);
}

function byName(a: Entry, b: Entry): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}
