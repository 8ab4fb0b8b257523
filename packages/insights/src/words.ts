import { rootOf } from '@svc/verification';
import { stopWords } from './stop.words.ts';

/** A word or number of a text. */
export interface Token {
  /** Folded: lower case, without diacritics. */
  text: string;
  /** UTF-16 units of the text, first and past the last. */
  start: number;
  end: number;
  isCapital: boolean;
}

/** Words of a text that are read; an utterance has 4,000 characters. */
const mostTokens = 100_000;
/** Longer words are cut: no word of a language is as long. */
const longestWord = 100;

/** A number with its separators and what is written to it ("10:30", "15th"), or a word with an apostrophe at most. */
const pattern = /\p{N}+(?:[.,:]\p{N}+)*[\p{L}\p{M}]*|\p{L}[\p{L}\p{N}\p{M}]*(?:['’]\p{L}[\p{L}\p{M}]*)?/gu;
/** Scripts that put no space between words: a run of them is read by pairs of characters. */
const unspaced = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u;

/** A text in lower case, without diacritics. */
export const fold = (text: string): string =>
  /^[\x20-\x7e]*$/.test(text)
    ? text.toLowerCase()
    : text
        .toLowerCase()
        .normalize('NFKD')
        .replaceAll(/\p{M}+/gu, '')
        .replaceAll('’', "'");

/** A text as a database can hold it and a line can show it: no control characters, no lone surrogates, single spaces. */
export const cleanLine = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim();

/** The start of a text, of `most` UTF-16 units at most; no pair is cut. */
export const startOf = (text: string, most: number): string => {
  if (text.length <= most) return text;
  const last = text.charCodeAt(most - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? most - 1 : most);
};

/** The words and numbers of a text, in order. */
export function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  for (const { 0: found, index } of text.matchAll(pattern)) {
    if (tokens.length >= mostTokens) break;
    if (found.length > 1 && unspaced.test(found)) tokens.push(...pairsOf(found, index));
    else {
      const isCapital = /^\p{Lu}/u.test(found);
      tokens.push({ text: fold(found.slice(0, longestWord)), start: index, end: index + found.length, isCapital });
    }
  }
  return tokens;
}

function pairsOf(run: string, at: number): Token[] {
  const points = Array.from(run.slice(0, mostTokens));
  const pairs: Token[] = [];
  let start = at;
  for (const [n, point] of points.entries()) {
    const pair = point + (points[n + 1] ?? '');
    if (points[n + 1] !== undefined || points.length === 1)
      pairs.push({ text: fold(pair), start, end: start + pair.length, isCapital: false });
    start += point.length;
  }
  return pairs;
}

/** A word without what English writes to it: "Ana's", "I'll". */
export const bare = (word: string): string => word.replace(/'\p{L}*$/u, '');

/** Whether a folded word says nothing alone. */
export const isStop = (word: string): boolean =>
  stopWords.has(word) || stopWords.has(bare(word)) || word.endsWith("n't");

/** Content words of a text in order, folded (lower case, no diacritics), without English and Romanian stop words. */
export const contentWords = (text: string): string[] =>
  tokensOf(text).flatMap((token) => (isStop(token.text) ? [] : [bare(token.text)]));

/** The root of a folded word, so that its forms meet: "planning" and "plans". */
export const stem = (word: string): string => rootOf(bare(word)).replace(/([bdgkmnprt])\1$/, '$1');
