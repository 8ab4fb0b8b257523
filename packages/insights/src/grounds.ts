import { type Claim, carries, claimOf, type Evidence, evidencesOf } from './evidence.ts';
import { namesIn, wordsOfNames } from './names.ts';
import { quoteIn } from './quotes.ts';
import type { Citation, HeardSpeaker, HeardUtterance, Recording } from './types.ts';
import { bare, fold, tokensOf } from './words.ts';

/** Utterances before and after a cited one that carry a statement too. */
const around = 2;
/** Utterances of a block that may carry a sentence without citations, and blocks that are tried. */
const blockSize = 5;
const mostBlocks = 4;

/** A citation as a model writes it. */
export interface Cite {
  seq: number;
  quote?: string | undefined;
}

/** A recording, made ready to be asked what it carries. */
export interface Grounds {
  recording: Recording;
  /** Names of speakers and those that were said, folded. */
  known: ReadonlySet<string>;
  /** What the sentences of each utterance carry, by its place; its speaker's name and label count as said. */
  said: readonly (readonly Evidence[])[];
  placeOf: ReadonlyMap<number, number>;
  speakers: ReadonlyMap<string, HeardSpeaker>;
  /** Blocks of utterances that hold a word, name or number. */
  blocksOf: ReadonlyMap<string, readonly number[]>;
}

/** Reads a recording once; 30,000 words take some 100 ms. */
export function groundsOf(recording: Recording): Grounds {
  const speakers = new Map(recording.speakers.map((speaker) => [speaker.label, speaker]));
  const read = recording.utterances.map((one) => ({ ...one, tokens: tokensOf(one.text) }));
  const names = recording.speakers.map(({ name }) => name);
  const placeOf = new Map<number, number>();
  const blocksOf = new Map<string, number[]>();
  const said = read.map(({ seq, speaker, text }, place) => {
    if (!placeOf.has(seq)) placeOf.set(seq, place);
    const names = wordsOfNames([speaker, speakers.get(speaker)?.name ?? null]);
    const head: Evidence = { words: new Set(names), stems: new Set(), numbers: new Set(), denies: false };
    const evidences = [head, ...evidencesOf(text)];
    const block = Math.floor(place / blockSize);
    for (const key of evidences.flatMap((one) => keysOf([...one.stems], [...one.words], [...one.numbers]))) {
      const blocks = blocksOf.get(key);
      if (!blocks) blocksOf.set(key, [block]);
      else if (blocks.at(-1) !== block) blocks.push(block);
    }
    return evidences;
  });
  const known = new Set([...namesIn(read).keys(), ...wordsOfNames(names)]);
  return { recording, known, said, placeOf, speakers, blocksOf };
}

const keysOf = (stems: readonly string[], words: readonly string[], numbers: readonly string[]): string[] => [
  ...stems.map((one) => `s${one}`),
  ...words.map((one) => `w${one}`),
  ...numbers.map((one) => `n${one}`),
];

/** The citations of utterances that exist, each once; a quote that does not stand there is left out. */
export function resolved(grounds: Grounds, cites: readonly Cite[], most: number): Citation[] {
  const found = new Map<number, Citation>();
  for (const { seq, quote } of cites) {
    const utterance = utteranceAt(grounds, seq);
    if (!utterance || (found.size >= most && !found.has(seq))) continue;
    const own = quote === undefined ? undefined : quoteIn(utterance.text, quote);
    const before = found.get(seq);
    if (!before) found.set(seq, citationOf(utterance, own));
    else if (own !== undefined) before.quote ??= own;
  }
  return [...found.values()];
}

/** A citation of an utterance. */
export const citationOf = ({ seq, speaker, startMs, endMs }: HeardUtterance, quote?: string): Citation => ({
  seq,
  speaker,
  start_ms: startMs,
  end_ms: endMs,
  ...(quote !== undefined && { quote }),
});

const utteranceAt = ({ recording, placeOf }: Grounds, seq: number): HeardUtterance | undefined =>
  recording.utterances[placeOf.get(seq) ?? -1];

/** What the utterances carry that some citations name, with those around them. */
export function evidenceAt(grounds: Grounds, citations: readonly Citation[]): Evidence[] {
  const places = new Set<number>();
  for (const { seq } of citations) {
    const place = grounds.placeOf.get(seq);
    if (place === undefined) continue;
    for (let away = -around; away <= around; away += 1) places.add(place + away);
  }
  return [...places].flatMap((place) => grounds.said[place] ?? []);
}

/** Whether a sentence is carried by utterances that are cited, or without citations by some that stand beside each other. */
export function isCarried(grounds: Grounds, sentence: string, citations: readonly Citation[]): boolean {
  const claim = claimOf(sentence, grounds.known);
  if (citations.length > 0) return carries(claim, evidenceAt(grounds, citations));
  return blocksFor(grounds, claim).some((block) => {
    const from = Math.max(0, block * blockSize - around);
    return carries(claim, grounds.said.slice(from, (block + 1) * blockSize + around).flat());
  });
}

/** The blocks that hold most of a claim, rare words first. */
function blocksFor({ blocksOf }: Grounds, { stems, names, numbers }: Claim): number[] {
  const scores = new Map<number, number>();
  for (const key of keysOf(stems, names, numbers)) {
    const blocks = blocksOf.get(key) ?? [];
    for (const block of blocks) scores.set(block, (scores.get(block) ?? 0) + 1 / Math.log2(2 + blocks.length));
  }
  const best = [...scores].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
  return best.slice(0, mostBlocks).map(([block]) => block);
}

/** Whether all names and numbers of a text stand somewhere in the recording. */
export function isOfRecording({ known, blocksOf }: Grounds, text: string): boolean {
  const { names, numbers } = claimOf(text, known);
  return keysOf([], names, numbers).every((key) => blocksOf.has(key));
}

/** Whether all words of a text stand in some texts: of a person or a date. */
export const standsIn = (text: string, texts: readonly Evidence[]): boolean => {
  const words = tokensOf(text).map((token) => bare(token.text));
  return words.length > 0 && words.every((word) => texts.some((one) => one.words.has(word) || one.numbers.has(word)));
};

/** The speaker who has a label or a name. */
export function speakerNamed({ recording }: Grounds, name: string): HeardSpeaker | undefined {
  const wanted = fold(name.trim());
  return recording.speakers.find(
    (one) => fold(one.label) === wanted || (one.name !== null && fold(one.name) === wanted),
  );
}
