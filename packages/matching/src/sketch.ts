import { leastPercent, type Words } from './words.ts';

/** Bits of a sketch: in 1 KiB a row stays in its page of the database, and texts of 32 kB are still told apart. */
export const sketchBits = 8_192;

/** A set of bits, one for each word of a text; a word's third occurrence has another one than its second. */
export type Sketch = Uint8Array;

/** A hash for each occurrence of a word in a text. */
export function* occurrences(word: string, count: number): Iterable<number> {
  const start = hashOf(word);
  for (let nth = 0; nth < count; nth += 1) yield mixed(start + Math.imul(nth, 0x9e3779b9));
}

/** The sketch of a text's words. */
export function sketchOf({ counts }: Words): Sketch {
  const sketch = new Uint8Array(sketchBits / 8);
  for (const [word, count] of counts) {
    for (const hash of occurrences(word, count)) {
      const bit = hash % sketchBits;
      sketch[bit >> 3] = (sketch[bit >> 3] as number) | (0x80 >> (bit & 7));
    }
  }
  return sketch;
}

/** How many words of a text of `total` may be missing in one of `other` words that overlaps with it; negative: none does. */
export const mostMissing = (total: number, other: number): number =>
  total - Math.ceil((Math.max(total, other) * leastPercent) / 100);

/**
 * False only if two texts do not overlap: a bit that one has and the other has not is a word that is missing there. Of
 * texts that overlap none is lost.
 */
export function mayOverlap(a: { sketch: Sketch; total: number }, b: { sketch: Sketch; total: number }): boolean {
  let [missingInB, missingInA] = [0, 0];
  for (const [i, one] of a.sketch.entries()) {
    const other = b.sketch[i] as number;
    missingInB += ones(one & ~other);
    missingInA += ones(other & ~one);
  }
  return missingInB <= mostMissing(a.total, b.total) && missingInA <= mostMissing(b.total, a.total);
}

/** FNV-1a over UTF-16 units. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash;
}

/** Spreads what differs in a few bits over all of them (the last steps of MurmurHash3). */
function mixed(value: number): number {
  let hash = value;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function ones(byte: number): number {
  let count = 0;
  for (let rest = byte & 0xff; rest !== 0; rest &= rest - 1) count += 1;
  return count;
}
