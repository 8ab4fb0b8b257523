import { numbersOf } from './numbers.ts';
import { framing } from './plain.words.ts';
import { dateWords, negations } from './stop.words.ts';
import { sentencesOf } from './sentences.ts';
import { isStop, stem, bare, type Token, tokensOf } from './words.ts';

/** What a sentence, or another short text, can carry. */
export interface Evidence {
  /** Folded words as they stand there. */
  words: Set<string>;
  stems: Set<string>;
  numbers: Set<string>;
  denies: boolean;
}

/** What a statement needs. */
export interface Claim {
  /** Content words that should stand in the evidence, most of them. */
  stems: string[];
  /** Names, days and months: each must stand there. */
  names: string[];
  /** Each must stand there. */
  numbers: string[];
  denies: boolean;
}

/** Content words of a claim that must stand in its evidence: this share, and two where there are two. */
const leastShare = 0.6;
const leastWords = 2;
/** A sentence is as near to a claim as the nearest one with this share of that one's words. */
const nearShare = 0.75;

/** Verbs that follow a person's name at the start of a sentence, folded. */
const personal = new Set(
  'will would is was has had said says asked asks agreed agrees wants needs can could should must to and va a vrea trebuie spune zice intreaba si are era este poate o trimite face verifica pregateste scrie suna ia preia rezolva'.split(
    ' ',
  ),
);
/** After one of these a capital says nothing: a sentence, a quote or an item of a list begins. */
const opens = /(?:^|[.!?…:;"“”„«»‘([–—•*-])\s*$/u;

/** "No, we launch" denies what another said, not that we launch. */
const deniesIn = (text: string, tokens: readonly Token[]): boolean =>
  tokens.some(({ text: word, end }) => (negations.has(word) && text[end] !== ',') || word.endsWith("n't"));

/** Reads what a short text carries. */
export function evidenceOf(text: string): Evidence {
  const tokens = tokensOf(text);
  const evidence: Evidence = {
    words: new Set(),
    stems: new Set(),
    numbers: numbersOf(tokens).values,
    denies: deniesIn(text, tokens),
  };
  for (const { text: word } of tokens) {
    evidence.words.add(word).add(bare(word));
    if (!isStop(word)) evidence.stems.add(stem(word));
  }
  return evidence;
}

/** Reads what a text carries, sentence by sentence: what one denies another may not. */
export const evidencesOf = (text: string): Evidence[] => sentencesOf(text).map((sentence) => evidenceOf(sentence.text));

/** Reads what a sentence claims. `known` are names of the recording, folded. */
export function claimOf(sentence: string, known: ReadonlySet<string>): Claim {
  const tokens = tokensOf(sentence);
  const numbers = numbersOf(tokens);
  const names = new Set<string>();
  const stems = new Set<string>();
  for (const [n, token] of tokens.entries()) {
    const word = bare(token.text);
    if (numbers.places.has(n) || (word.length > 1 && isStop(token.text))) continue;
    if (dateWords.has(word) || isName(sentence, tokens, n, known)) names.add(word);
    // A single letter that is no capital is no word: "e-mail".
    else if (word.length > 1 && !isStop(word)) stems.add(stem(word));
  }
  return {
    stems: [...stems].filter((one) => !framing.has(one)),
    names: [...names],
    numbers: [...numbers.strong],
    denies: deniesIn(sentence, tokens),
  };
}

function isName(sentence: string, tokens: readonly Token[], n: number, known: ReadonlySet<string>): boolean {
  const token = tokens[n] as Token;
  const word = bare(token.text);
  if (!token.isCapital) return false;
  if (known.has(word)) return true;
  const isFirst = opens.test(sentence.slice(Math.max(0, token.start - 4), token.start));
  if (!isFirst) return word !== 'i' && !(word.length === 1 && isStop(word));
  const next = tokens[n + 1];
  if (!next || framing.has(stem(word)) || word.length === 1) return false;
  // "Bogdan will send", "Bogdan sends", "Bogdan Ionescu sent": a word that no one said must not become a person.
  if (isStop(next.text)) return personal.has(next.text);
  return personal.has(next.text) || next.isCapital || /(?:[^s]s|ed)$/.test(next.text);
}

/**
 * Whether sentences carry a claim together: each number, name, day and month stands there, most content words do by their roots,
 * and what the nearest sentences deny is denied, and nothing else. A claim without a content word or number is not carried: it
 * says nothing that can be checked.
 */
export function carries(claim: Claim, texts: readonly Evidence[]): boolean {
  const { stems, names, numbers } = claim;
  if (stems.length + numbers.length === 0) return false;
  if (!numbers.every((number) => texts.some((text) => text.numbers.has(number)))) return false;
  if (!names.every((name) => texts.some((text) => text.words.has(name) || text.stems.has(name)))) return false;
  const found = stems.filter((one) => texts.some((text) => text.stems.has(one))).length;
  return found >= leastShare * stems.length && found >= Math.min(leastWords, stems.length) && isSaidSo(claim, texts);
}

/** Whether a sentence that is as near to the claim as any denies as it does. */
function isSaidSo({ stems, denies }: Claim, texts: readonly Evidence[]): boolean {
  const counts = texts.map((text) => stems.filter((one) => text.stems.has(one)).length);
  const best = Math.max(0, ...counts);
  // What is put together from several sentences has no nearest one: a denial in one of them does not deny all.
  if (!denies && best < leastShare * stems.length) return true;
  const isNear = (count: number): boolean => count >= Math.max(denies ? 1 : 0, nearShare * best);
  return texts.some((text, n) => text.denies === denies && isNear(counts[n] ?? 0));
}
