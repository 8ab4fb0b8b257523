import { createHash } from 'node:crypto';
import { fromBytes, hashesOf, sharedHashes, toBytes } from './hashes.ts';
import { sketchOf } from './sketch.ts';
import { textHash, textPrefix } from './text.ts';
import { overlap, pairsOf, wordsOf } from './words.ts';

/** Index entry that finds a text again. */
export interface Description {
  /** SHA-256 of the normalized text. */
  textHash: Uint8Array;
  /** SHA-256 of its first 4,000 UTF-16 units; null for a shorter one. */
  prefixHash: Uint8Array | null;
  /** Words. */
  total: number;
  sketch: Uint8Array;
  /** Hashes of its words, sorted (`toBytes`). */
  hashes: Uint8Array;
}

/** Functions that run off the main thread. */
export const work = {
  describe(text: string): Description {
    const words = wordsOf(text);
    const prefix = textPrefix(text);
    return {
      textHash: Buffer.from(textHash(text), 'hex'),
      // By its units: the cut may go through a pair of them.
      prefixHash: prefix === undefined ? null : createHash('sha256').update(prefix, 'utf16le').digest(),
      total: words.total,
      sketch: sketchOf(words),
      hashes: toBytes(hashesOf(words)),
    };
  },

  /** How many words a text shares with each of the others. */
  shared(hashes: Uint8Array, others: readonly Uint8Array[]): number[] {
    const own = fromBytes(asBuffer(hashes));
    return others.map((other) => sharedHashes(own, fromBytes(asBuffer(other))));
  },

  /** The same of pairs of words that follow each other, for texts that have the same words. */
  sharedPairs(text: string, others: readonly string[]): number[] {
    const own = pairsOf(text);
    return others.map((other) => overlap(own, pairsOf(other)));
  },
};

/** Work by its name. */
export type Work = typeof work;

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
