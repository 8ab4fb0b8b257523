import { contentWords } from '@svc/insights';
import { stemOf } from './snippet.ts';

/** Part of a text, in UTF-16 units. */
interface Part {
  start: number;
  end: number;
}

/** A word with its times. */
interface Timed {
  text: string;
  startMs: number;
  endMs: number;
}

const sentences = new Intl.Segmenter('und', { granularity: 'sentence' });
/** Of a name that is spelt alike, as the database takes it. */
const leastAlike = 0.45;
const shortestName = 3;

/** The sentences of a text. */
export const sentencesOf = (text: string): Part[] =>
  Array.from(sentences.segment(text), ({ segment, index }) => ({
    start: index,
    end: index + segment.trimEnd().length,
  }));

/** Words of a question, as sentences are held against it. */
interface Asked {
  stems: ReadonlySet<string>;
  names: readonly ReadonlySet<string>[];
  /** Names that a word of a passage is spelt like, and how much: the same few thousand words stand in all passages. */
  known: Map<string, readonly Likeness[]>;
}
type Likeness = readonly [name: number, likeness: number];
/** Words whose likeness is kept; further ones are looked at anew. */
const mostKnown = 20_000;

/** Reads a question once for all passages. */
export function askedOf(q: string): Asked {
  const words = contentWords(q).slice(0, 32);
  const names = words.filter((word) => word.length >= shortestName).map(trigramsOf);
  return { stems: new Set(words.map(stemOf)), names, known: new Map() };
}

/** How many words of a question a sentence has; one that is spelt alike counts for less than the word itself. */
export function sharedWith(asked: Asked, sentence: string): number {
  const words = contentWords(sentence);
  const same = new Set(words.map(stemOf).filter((stem) => asked.stems.has(stem)));
  const best = new Map<number, number>();
  for (const word of words)
    for (const [name, likeness] of likenessesOf(asked, word))
      if (likeness > (best.get(name) ?? 0)) best.set(name, likeness);
  const alike = best.values().reduce((sum, likeness) => sum + likeness, 0);
  return same.size + alike / 2;
}

function likenessesOf({ names, known }: Asked, word: string): readonly Likeness[] {
  const before = known.get(word);
  if (before) return before;
  const own = word.length >= shortestName ? trigramsOf(word) : new Set<string>();
  const found = names.flatMap((name, at): Likeness[] => {
    const likeness = likenessOf(name, own);
    return likeness > 0 ? [[at, likeness]] : [];
  });
  if (known.size < mostKnown) known.set(word, found);
  return found;
}

/** Runs of three signs in a word, as pg_trgm has them. */
function trigramsOf(word: string): Set<string> {
  const padded = `  ${word} `;
  return new Set(Array.from({ length: padded.length - 2 }, (_, at) => padded.slice(at, at + 3)));
}

function likenessOf(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  const shared = one.intersection(other).size;
  const likeness = shared / (one.size + other.size - shared);
  return likeness >= leastAlike ? likeness : 0;
}

/** When a part of what was said is said: by its words, and where these are not those of the text by its length. */
export function timesOf(
  said: { text: string; start_ms: number; end_ms: number },
  { start, end }: Part,
  words: readonly Timed[],
): { start_ms: number; end_ms: number } {
  const own: Timed[] = [];
  let at = 0;
  for (const word of words) {
    const found = said.text.indexOf(word.text, at);
    if (found === -1) return byLength(said, { start, end });
    at = found + word.text.length;
    if (found >= start && at <= end) own.push(word);
  }
  const [first, last] = [own[0], own.at(-1)];
  if (!first || !last) return byLength(said, { start, end });
  return { start_ms: first.startMs, end_ms: Math.max(first.startMs, last.endMs) };
}

function byLength({ text, start_ms: from, end_ms: to }: Parameters<typeof timesOf>[0], { start, end }: Part) {
  const instantOf = (unit: number): number => Math.round(from + ((to - from) * unit) / Math.max(1, text.length));
  return { start_ms: instantOf(start), end_ms: instantOf(end) };
}
