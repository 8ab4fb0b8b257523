import { type Sentence, sentencesOf } from './sentences.ts';
import type { HeardUtterance, Recording } from './types.ts';
import { isStop, stem, type Token, tokensOf } from './words.ts';

/** A sentence of a recording. */
export interface Spoken extends Sentence {
  utterance: HeardUtterance;
  /** Place of the utterance. */
  place: number;
  tokens: readonly Token[];
  /** Roots of its content words, each once. */
  stems: ReadonlySet<string>;
}

/** Sentences that are read; 3 h of speech have 5,000. */
const mostSentences = 50_000;
/** Words of a sentence that says enough and not too much. */
const fewWords = 6;
const manyWords = 40;
/** Sentences that are compared for saying the same. */
const mostCompared = 150;
/** Share of common roots from which two sentences say the same. */
const sameShare = 0.5;

/** The sentences of a recording, in order. */
export function spokenOf({ utterances }: Recording): Spoken[] {
  const spoken: Spoken[] = [];
  for (const [place, utterance] of utterances.entries()) {
    for (const sentence of sentencesOf(utterance.text)) {
      if (spoken.length >= mostSentences) return spoken;
      const tokens = tokensOf(sentence.text);
      const stems = new Set(tokens.flatMap(({ text }) => (isStop(text) ? [] : [stem(text)])));
      spoken.push({ ...sentence, utterance, place, tokens, stems });
    }
  }
  return spoken;
}

/** Weight of each root: often said in few sentences. */
export function weightsOf(sentences: readonly { stems: ReadonlySet<string> }[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { stems } of sentences) for (const one of stems) counts.set(one, (counts.get(one) ?? 0) + 1);
  const weights = new Map<string, number>();
  for (const [one, count] of counts) {
    weights.set(one, /\p{N}/u.test(one) ? 1 : Math.sqrt(count) * Math.log(1 + sentences.length / count));
  }
  return weights;
}

/**
 * How much each sentence says of what the recording is about: the weights of its roots by its length, less for short, long and
 * asked ones, more near the start and the end, where people say what a conversation is about and what it came to.
 */
export function scoresOf(spoken: readonly Spoken[], weights: ReadonlyMap<string, number>): number[] {
  return spoken.map(({ text, tokens, stems }, n) => {
    let sum = 0;
    for (const one of stems) sum += weights.get(one) ?? 0;
    const at = n / Math.max(1, spoken.length - 1);
    const isEdge = at < 0.1 || at > 0.85;
    const length = tokens.length < fewWords ? 0.3 : tokens.length > manyWords ? 0.6 : 1;
    return (sum / (4 + stems.size ** 0.8)) * length * (isEdge ? 1.15 : 1) * (text.endsWith('?') ? 0.4 : 1);
  });
}

/** The best sentences that do not repeat each other, at most `most`, in the order in which they were said. */
export function bestOf(spoken: readonly Spoken[], scores: readonly number[], most: number): Spoken[] {
  const order = spoken.map((_, n) => n).filter((n) => (scores[n] ?? 0) > 0);
  order.sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0) || a - b);
  const chosen: number[] = [];
  for (const n of order.slice(0, mostCompared)) {
    if (chosen.length >= most) break;
    if (!chosen.some((other) => isSame(spoken[n], spoken[other]))) chosen.push(n);
  }
  return chosen.sort((a, b) => a - b).flatMap((n) => spoken[n] ?? []);
}

function isSame(a: Spoken | undefined, b: Spoken | undefined): boolean {
  if (!a || !b) return false;
  let shared = 0;
  for (const one of a.stems) if (b.stems.has(one)) shared += 1;
  return shared >= sameShare * Math.min(a.stems.size, b.stems.size);
}
