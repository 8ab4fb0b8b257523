import { occurrences } from './sketch.ts';
import type { Words } from './words.ts';

/**
 * The words of a text as sorted hashes, one for each occurrence: two texts are compared by one walk over both. Of 20,000 words
 * one or two fall together by chance.
 */
export type Hashes = Uint32Array;

/** The hashes of a text's words. */
export function hashesOf({ counts, total }: Words): Hashes {
  const hashes = new Uint32Array(total);
  let at = 0;
  for (const [word, count] of counts) for (const hash of occurrences(word, count)) hashes[at++] = hash;
  return hashes.sort();
}

/** How many of the words two texts share. */
export function sharedHashes(a: Hashes, b: Hashes): number {
  let [i, j, shared] = [0, 0, 0];
  while (i < a.length && j < b.length) {
    const [one, other] = [a[i] as number, b[j] as number];
    if (one === other) shared += 1;
    if (one <= other) i += 1;
    if (other <= one) j += 1;
  }
  return shared;
}

/** Hashes that an estimate is made from: those of a text that are lowest. */
export const lowHashes = 64;

/** About which share of the words of two texts both have, from the lowest hashes of each; exact for short ones. */
export function estimatedShare(a: Hashes, b: Hashes): number {
  let [i, j, shared, seen] = [0, 0, 0, 0];
  const most = Math.max(Math.min(a.length, lowHashes), Math.min(b.length, lowHashes));
  for (; seen < most && (i < a.length || j < b.length); seen += 1) {
    const [one, other] = [a[i] ?? Infinity, b[j] ?? Infinity];
    if (one === other) shared += 1;
    if (one <= other) i += 1;
    if (other <= one) j += 1;
  }
  return seen === 0 ? 0 : shared / seen;
}

/** Hashes as bytes, whatever the machine's order. */
export function toBytes(hashes: Hashes): Buffer {
  const bytes = Buffer.allocUnsafe(hashes.length * 4);
  for (const [i, hash] of hashes.entries()) bytes.writeUInt32LE(hash, i * 4);
  return bytes;
}

/** The hashes that such bytes are. */
export function fromBytes(bytes: Buffer): Hashes {
  const hashes = new Uint32Array(bytes.length >> 2);
  for (let i = 0; i < hashes.length; i += 1) hashes[i] = bytes.readUInt32LE(i * 4);
  return hashes;
}
