import { createReadStream, createWriteStream } from 'node:fs';
import { open, rm, stat, truncate } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';

/** Recordings that are read of one file; a recorder that starts anew each minute writes 180 in three hours. */
export const mostPieces = 200;
/** Boxes of an MP4 that are looked at, and those of its fragments: of 20 ms each, three hours have a million. */
const mostBoxes = 100_000;
const mostFragmentBoxes = 2_200_000;
const ofFragments = new Set(['moof', 'mdat', 'styp', 'sidx', 'prft', 'emsg']);
const boxesChunk = 4 * 1024;
const chunkBytes = 1024 * 1024;
/**
 * Places of a mark that are looked at in a file: those of its recordings, and what looks like them. 10 ms of this
 * thread.
 */
const mostCandidates = 10_000;
/** Tags at the begin of an MP3 that are passed over, and zeros behind each. */
const mostTags = 16;
const mostPadding = 256 * 1024;
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

/** Whether bytes stand at a place; a name is searched in a stranger's megabytes, so no text is made of them. */
const stands = (bytes: Buffer, at: number, wanted: Buffer): boolean =>
  at >= 0 &&
  at + wanted.length <= bytes.length &&
  bytes.compare(wanted, 0, wanted.length, at, at + wanted.length) === 0;
const named = (name: string): Buffer => Buffer.from(name, 'latin1');
const [riff, form, comm, fver] = ['RIFF', 'FORM', 'COMM', 'FVER'].map(named) as [Buffer, Buffer, Buffer, Buffer];
const docTypes = [named('webm'), named('matroska')];
const [narrow, wide] = [named('\n'), named('-WB\n')];

const matroska: Head = {
  mark: Buffer.from([0x1a, 0x45, 0xdf, 0xa3]),
  isHead: (bytes, at) => {
    for (let type = at + 4; type < at + 64 && type + 2 < bytes.length; type += 1) {
      if (bytes[type] !== 0x42 || bytes[type + 1] !== 0x82) continue;
      const size = bytes[type + 2] as number;
      if (size >= 0x80 && size <= 0x90 && docTypes.some((name) => stands(bytes, type + 3, name))) return true;
    }
    return false;
  },
};
const ogg: Head = {
  mark: Buffer.from('OggS\0\x02\0\0\0\0\0\0\0\0', 'latin1'),
  isHead: always,
};
const wave: Head = {
  mark: Buffer.from('WAVEfmt '),
  before: 8,
  isHead: (bytes, at) => stands(bytes, at, riff),
};
const aiff: Head = {
  mark: Buffer.from('AIF'),
  before: 8,
  isHead: (bytes, at) =>
    stands(bytes, at, form) &&
    (bytes[at + 11] === 0x46 || bytes[at + 11] === 0x43) &&
    (stands(bytes, at + 12, comm) || stands(bytes, at + 12, fver)),
};
const flac: Head = {
  mark: Buffer.from('fLaC'),
  isHead: (bytes, at) =>
    (bytes[at + 4] === 0 || bytes[at + 4] === 0x80) &&
    bytes[at + 5] === 0 &&
    bytes[at + 6] === 0 &&
    bytes[at + 7] === 0x22,
};
const amr: Head = {
  mark: Buffer.from('#!AMR'),
  isHead: (bytes, at) => stands(bytes, at + 5, narrow) || stands(bytes, at + 5, wide),
};
const caf: Head = { mark: Buffer.from('caff\0\x01\0\0desc', 'latin1'), isHead: always };
/** The first frame of an MP3 that says how long it is: 32, 17 or 9 bytes of side information stand before the mark. */
const mp3 = (mark: string, side: number): Head => ({
  mark: Buffer.from(mark),
  before: 4 + side,
  isHead: (bytes, at) => {
    const second = bytes[at + 1] as number;
    if (bytes[at] !== 0xff || second < 0xf2 || second > 0xfb) return false;
    for (let n = at + 4; n < at + 4 + side; n += 1) if (bytes[n] !== 0) return false;
    return true;
  },
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

/** Where recordings begin in a file. */
interface Beginnings {
  /** `[0]` for one; at most `mostPieces` + 1. */
  begins: number[];
  /** The file was looked through to its end: it is not where too much in it looks like a head. */
  isLookedThrough: boolean;
}

/** Where recordings begin in a file of several that were put one behind the other. */
export async function beginningsOf(file: string): Promise<Beginnings> {
  await using handle = await open(file);
  const { size } = await handle.stat();
  const read = async (at: number, bytes: Buffer): Promise<Buffer> =>
    bytes.subarray(0, (await handle.read(bytes, 0, bytes.length, at)).bytesRead);
  const first = await read(0, Buffer.alloc(12));
  if (/^(?:ftyp|moov|mdat|wide|free|skip)$/.test(text(first, 4, 8))) return await boxesOf(read, size);
  const heads = headsOf(first);
  // An MP3's own head stands behind its tags.
  const own = await afterTags(read);
  const { found, isLookedThrough } = await scan(read, size, heads);
  const begins = heads[0] === ogg ? await chainsOf(read, found) : found;
  return { begins: [0, ...begins.filter((at) => at > own)].slice(0, mostPieces + 1), isLookedThrough };
}

/** Bytes that an ID3 has behind its head of ten. */
export const tagBytes = (head: Uint8Array): number =>
  [...head.subarray(6, 10)].reduce((sum, byte) => sum * 128 + (byte & 127), 0);

type Read = (at: number, bytes: Buffer) => Promise<Buffer>;

/** Where tags at the begin of a file end: several ID3, each with zeros behind it; 0 where there is none. */
async function afterTags(read: Read): Promise<number> {
  let at = 0;
  for (let n = 0; n < mostTags; n += 1) {
    const head = await read(at, Buffer.alloc(10));
    if (head.length < 10 || text(head, 0, 3) !== 'ID3') break;
    const footer = ((head[5] as number) & 0x10) === 0 ? 0 : 10;
    at += 10 + tagBytes(head) + footer;
    const padding = await read(at, Buffer.alloc(mostPadding));
    const zeros = padding.findIndex((byte) => byte !== 0);
    at += zeros < 0 ? padding.length : zeros;
  }
  return at;
}

/** Every place of a head, in order, until too much looks like one. */
async function scan(
  read: Read,
  size: number,
  heads: readonly Head[],
): Promise<{ found: number[]; isLookedThrough: boolean }> {
  const found = new Set<number>();
  const bytes = Buffer.alloc(heads.length > 0 ? chunkBytes + overlapBytes : 0);
  let left = mostCandidates;
  for (let at = 0; heads.length > 0 && at < size && left > 0; at += chunkBytes) {
    const chunk = await read(at, bytes);
    for (const { mark, before = 0, isHead } of heads)
      for (let from = chunk.indexOf(mark); from >= 0 && left > 0; from = chunk.indexOf(mark, from + 1)) {
        left -= 1;
        if (from >= before && isHead(chunk, from - before)) found.add(at + from - before);
      }
  }
  return { found: [...found].sort((a, b) => a - b), isLookedThrough: left > 0 };
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
async function boxesOf(read: Read, size: number): Promise<Beginnings> {
  const begins = [0];
  let at = 0;
  let n = 0;
  let fragments = 0;
  let hasMoov = false;
  let first = '';
  let chunkAt = 0;
  let chunk: Buffer = Buffer.alloc(0);
  const isWithin = (): boolean => n < mostBoxes && fragments < mostFragmentBoxes;
  while (at + 8 <= size && isWithin() && begins.length <= mostPieces) {
    // Small boxes lie side by side.
    if (at + 16 > chunkAt + chunk.length) {
      chunkAt = at;
      chunk = await read(at, Buffer.alloc(boxesChunk));
    }
    const head = chunk.subarray(at - chunkAt, at - chunkAt + 16);
    const kind = text(head, 4, 8);
    first ||= kind;
    if (hasMoov && ofFragments.has(kind)) fragments += 1;
    else n += 1;
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
  return { begins, isLookedThrough: isWithin() };
}

/**
 * Cuts a file, in place, where another recording begins in it: a browser's recorder that was stopped and started,
 * files that were put one behind the other. Answers its pieces in order; the others stand beside it. `isWhole` is
 * false when it holds more than are read, or was not looked through.
 */
export async function cutPieces(file: string): Promise<{ files: string[]; isWhole: boolean }> {
  const { begins, isLookedThrough } = await beginningsOf(file);
  const isWhole = isLookedThrough && begins.length <= mostPieces;
  if (begins.length === 1) return { files: [file], isWhole };
  const { size } = await stat(file);
  const files = [file];
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
