import type { HeardUtterance } from './types.ts';
import { dateWords } from './stop.words.ts';
import { bare, fold, isStop, type Token, tokensOf } from './words.ts';

const mostNames = 2_000;
const mostSeqs = 50;
/** A text with more capitals than this says nothing by them: a headline, or German. */
const mostCapitals = 0.4;

/**
 * Names that were said, folded, with the `seq` of each utterance that says them (50 at most): capitalised words that do not
 * begin a sentence, wherever else they stand, and names of speakers where an utterance's `speaker` is no label such as S1.
 * At most 2,000 names, those that are said first.
 */
export function namesOf(utterances: readonly HeardUtterance[]): Map<string, number[]> {
  return namesIn(utterances.map(({ seq, speaker, text }) => ({ seq, speaker, text, tokens: tokensOf(text) })));
}

/** An utterance whose words were read. */
interface ReadUtterance {
  seq: number;
  speaker: string;
  text: string;
  tokens: readonly Token[];
}

/** The same of utterances whose words were read. */
export function namesIn(utterances: readonly ReadUtterance[]): Map<string, number[]> {
  const spoken = new Set<string>();
  for (const speaker of new Set(utterances.map((one) => one.speaker))) {
    if (/^S\d+$/.test(speaker)) continue;
    for (const { text } of tokensOf(speaker)) if (!isStop(text)) spoken.add(bare(text));
  }
  const known = new Set(spoken);
  for (const { text, tokens } of utterances) for (const name of capitalsOf(text, tokens)) known.add(name);
  const names = new Map<string, number[]>();
  for (const { seq, tokens } of utterances) {
    for (const { text, isCapital } of tokens) {
      const word = bare(text);
      if (isCapital ? !known.has(word) : !spoken.has(word)) continue;
      const seqs = names.get(word);
      if (!seqs) {
        if (names.size < mostNames) names.set(word, [seq]);
      } else if (seqs.length < mostSeqs && seqs.at(-1) !== seq) seqs.push(seq);
    }
  }
  return names;
}

function capitalsOf(text: string, tokens: readonly Token[]): string[] {
  const inner = tokens.filter(
    ({ start }, n) => n > 0 && !/[.!?…:"“„«([]\s*$/u.test(text.slice(Math.max(0, start - 3), start)),
  );
  const capitals = inner.filter(
    ({ text: word, isCapital }) => isCapital && word.length > 1 && !isStop(word) && !dateWords.has(word),
  );
  return capitals.length > Math.max(2, mostCapitals * inner.length) ? [] : capitals.map(({ text: word }) => bare(word));
}

/** Words of the names of speakers, folded. */
export const wordsOfNames = (names: readonly (string | null)[]): string[] =>
  names.flatMap((name) => (name === null ? [] : tokensOf(fold(name)).map(({ text }) => bare(text))));
