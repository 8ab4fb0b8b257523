import { createReadStream, createWriteStream } from 'node:fs';
import { open, rm, stat, truncate } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';

/** Recordings that are read of one file; a recorder that starts anew each minute writes 180 in three hours. */
export const mostPieces = 200;
/** Boxes of an MP4 that are looked at: a file in fragments has two a second. */
const mostBoxes = 100_000;
const chunkBytes = 1024 * 1024;
/** More than any head that is looked for, and the page of Ogg that may stand before it. */
const overlapBytes = 72 * 1024;

/** Where a recording may begin: its first bytes, and what else must stand there. */
interface Head {
  mark: Buffer;
  /** Bytes from the head's start to the mark. */
  before?: number;
  isHead: (bytes: Buffer, at: number) => boolean;
}

const text = (bytes: Buffer, from: number, to: number): string => bytes.toString('latin1', from, to);
const always = (): boolean => true;

const matroska: Head = {
  mark: Buffer.from([0x1a, 0x45, 0xdf, 0xa3]),
  isHead: (bytes, at) => /\x42\x82[\x80-\x90](?:webm|matroska)/.test(text(bytes, at + 4, at + 64)),
};
const ogg: Head = {
  mark: Buffer.from('OggS\0\x02\0\0\0\0\0\0\0\0', 'latin1'),
  isHead: always,
};
const wave: Head = {
  mark: Buffer.from('WAVEfmt '),
  before: 8,
  isHead: (bytes, at) => text(bytes, at, at + 4) === 'RIFF',
};
const aiff: Head = {
  mark: Buffer.from('AIF'),
  before: 8,
  isHead: (bytes, at) => /^FORM[^]{4}AIF[FC](?:COMM|FVER)/.test(text(bytes, at, at + 16)),
};
const flac: Head = {
  mark: Buffer.from('fLaC'),
  isHead: (bytes, at) => /^[\0\x80]\0\0\x22/.test(text(bytes, at + 4, at + 8)),
};
const amr: Head = {
  mark: Buffer.from('#!AMR'),
  isHead: (bytes, at) => /^(?:-WB)?\n/.test(text(bytes, at + 5, at + 9)),
};
const caf: Head = { mark: Buffer.from('caff\0\x01\0\0desc', 'latin1'), isHead: always };
/** The first frame of an MP3 that says how long it is: 32, 17 or 9 bytes of side information stand before the mark. */
const mp3 = (mark: string, side: number): Head => ({
  mark: Buffer.from(mark),
  before: 4 + side,
  isHead: (bytes, at) =>
    /^\xff[\xf2-\xfb]/.test(text(bytes, at, at + 2)) && bytes.subarray(at + 4, at + 4 + side).every((one) => one === 0),
});
const mp3s = ['Xing', 'Info'].flatMap((mark) => [32, 17, 9].map((side) => mp3(mark, side)));

function headsOf(first: Buffer): readonly Head[] {
  const begins = text(first, 0, 12);
  if (begins.startsWith('\x1a\x45\xdf\xa3')) return [matroska];
  if (begins.startsWith('OggS')) return [ogg];
  if (/^RIFF[^]{4}WAVE/.test(begins)) return [wave];
  if (/^FORM[^]{4}AIF/.test(begins)) return [aiff];
  if (begins.startsWith('fLaC')) return [flac];
  if (begins.startsWith('#!AMR')) return [amr];
  if (begins.startsWith('caff')) return [caf];
  if (/^(?:ID3|\xff[\xe0-\xff])/.test(begins)) return mp3s;
  return [];
}

/** Where recordings begin in a file of several that were put one behind the other; `[0]` for one. At most `mostPieces` + 1. */
export async function beginningsOf(file: string): Promise<number[]> {
  await using handle = await open(file);
  const { size } = await handle.stat();
  const first = Buffer.alloc(12);
  await handle.read(first, 0, 12, 0);
  // An MP3's own head stands behind its tags.
  const tags = text(first, 0, 3) === 'ID3' ? 10 + tagBytes(first) : 0;
  const read = async (at: number, bytes: Buffer): Promise<Buffer> =>
    bytes.subarray(0, (await handle.read(bytes, 0, bytes.length, at)).bytesRead);
  if (/^(?:ftyp|moov|mdat|wide|free|skip)$/.test(text(first, 4, 8))) return await boxesOf(read, size);
  const heads = headsOf(first);
  const found = heads.length > 0 ? await scan(read, size, heads) : [];
  const begins = heads[0] === ogg ? await chainsOf(read, found) : found;
  return [0, ...begins.filter((at) => at > tags)].slice(0, mostPieces + 1);
}

const tagBytes = (head: Buffer): number => [...head.subarray(6, 10)].reduce((sum, byte) => sum * 128 + (byte & 127), 0);

type Read = (at: number, bytes: Buffer) => Promise<Buffer>;

/** Every place of a head, in order. */
async function scan(read: Read, size: number, heads: readonly Head[]): Promise<number[]> {
  const found = new Set<number>();
  const bytes = Buffer.alloc(chunkBytes + overlapBytes);
  for (let at = 0; at < size && found.size <= mostPieces * 4; at += chunkBytes) {
    const chunk = await read(at, bytes);
    for (const { mark, before = 0, isHead } of heads)
      for (let from = chunk.indexOf(mark); from >= 0; from = chunk.indexOf(mark, from + 1))
        if (from >= before && isHead(chunk, from - before)) found.add(at + from - before);
  }
  return [...found].sort((a, b) => a - b);
}

/** Of first pages of Ogg, those that begin a chain: streams that are heard at once have theirs one behind the other. */
async function chainsOf(read: Read, pages: readonly number[]): Promise<number[]> {
  const begins: number[] = [];
  let end = -1;
  for (const at of pages) {
    if (at !== end) begins.push(at);
    const head = await read(at, Buffer.alloc(27 + 255));
    const segments = head.subarray(27, 27 + (head[26] ?? 0));
    end = at + 27 + segments.length + segments.reduce((sum, length) => sum + length, 0);
  }
  return begins;
}

/** Where files of MP4 begin in one: where a `ftyp`, or a `moov` of one without, stands after a `moov`. */
async function boxesOf(read: Read, size: number): Promise<number[]> {
  const begins = [0];
  let hasMoov = false;
  let first = '';
  for (let at = 0, n = 0; at + 8 <= size && n < mostBoxes && begins.length <= mostPieces; n += 1) {
    const head = await read(at, Buffer.alloc(16));
    const kind = text(head, 4, 8);
    first ||= kind;
    const begin = first === 'ftyp' ? 'ftyp' : first === 'moov' ? 'moov' : undefined;
    if (hasMoov && kind === begin) {
      begins.push(at);
      hasMoov = false;
    }
    if (kind === 'moov') hasMoov = true;
    const short = head.readUInt32BE(0);
    const length = short === 1 && head.length === 16 ? Number(head.readBigUInt64BE(8)) : short;
    if (length < 8) break;
    at += length;
  }
  return begins;
}

/**
 * Cuts a file, in place, where another recording begins in it: a browser's recorder that was stopped and started, files that
 * were put one behind the other. Answers its pieces in order; the others stand beside it. `isWhole` is false when it
 * holds more than are read.
 */
export async function cutPieces(file: string): Promise<{ files: string[]; isWhole: boolean }> {
  const begins = await beginningsOf(file);
  if (begins.length === 1) return { files: [file], isWhole: true };
  const { size } = await stat(file);
  const files = [file];
  const isWhole = begins.length <= mostPieces;
  for (const [n, start] of begins.entries()) {
    if (n === 0 || n >= mostPieces) continue;
    const piece = `${file}.${n}`;
    await rm(piece, { force: true });
    await pipeline(
      createReadStream(file, { start, end: (begins[n + 1] ?? size) - 1 }),
      createWriteStream(piece, { mode: 0o600 }),
    );
    files.push(piece);
  }
  await truncate(file, begins[1] ?? size);
  return { files, isWhole };
}
