export { isOverlap, overlap, wordCounts, type Words, wordsOf } from './words.ts';
export { mayOverlap, mostMissing, type Sketch, sketchBits, sketchOf } from './sketch.ts';
export { normalized, prefixUnits, textHash, textPrefix } from './text.ts';
export { compare, type Kinship } from './compare.ts';
