export { isOverlap, leastPercent, overlap, pairsOf, wordCounts, type Words, wordsOf } from './words.ts';
export { mayOverlap, mostMissing, type Sketch, sketchBits, sketchOf } from './sketch.ts';
export { normalized, prefixUnits, textHash, textPrefix } from './text.ts';
export { compare, type Kinship } from './compare.ts';
export { estimatedShare, fromBytes, type Hashes, hashesOf, lowHashes, sharedHashes, toBytes } from './hashes.ts';
export { Matcher } from './matcher.ts';
export type { Description } from './work.ts';
