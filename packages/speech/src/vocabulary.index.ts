import { distance } from './distance.ts';
import { languageCode } from './language.ts';
import { fold, wordsIn } from './text.ts';
import type { VocabularyEntry } from './types.ts';

/** Entries, spellings of one, and characters of a spelling that are read; what is beyond is left out. */
const mostEntries = 2_000;
const mostSpellings = 20;
const longestForm = 64;
/** A spelling may differ in one letter of each six, and in three at most; one of fewer letters must be met exactly. */
const leastFuzzy = 6;
const mostEdits = 3;
/** Runs whose answers are kept for the next time. */
const mostKept = 50_000;

/** A term as it can be found. */
export interface Term {
  words: string[];
  text: string;
  folded: string;
  /** Two letters, or null for every language. */
  language: string | null;
}

interface Form {
  folded: string;
  letters: number;
  term: Term;
}

/** A term that a run of words may stand for, and how many letters differ, as a share. */
export interface Found {
  term: Term;
  off: number;
}

/** Terms by how they are spelled and how they sound. */
export interface Terms {
  /** The term that a folded text spells exactly. */
  exact: (folded: string, language: string | null) => Term | undefined;
  /** The term that it resembles most. */
  like: (folded: string, language: string | null) => Found | undefined;
}

/**
 * Makes the index: exact spellings in a map; others by their first letter and length, so that a run is compared with few of
 * them, and of those only with ones that have nearly the same letters.
 */
export function termsOf(vocabulary: readonly VocabularyEntry[]): Terms {
  const exact = new Map<string, Term[]>();
  const buckets = new Map<string, Form[]>();
  const own = vocabulary.slice(0, mostEntries).flatMap((entry) => {
    const term = termOf(entry);
    return term ? [{ term, spellings: (entry.sounds_like ?? []).slice(0, mostSpellings).map(fold) }] : [];
  });
  // Terms before spellings: a text that is one entry's term is never another's.
  for (const { term } of own) put(exact, term.folded, term);
  for (const { term, spellings } of own) for (const spelling of spellings) put(exact, spelling, term);
  for (const { term, spellings } of own) {
    for (const folded of new Set([term.folded, ...spellings])) {
      if (folded.length < leastFuzzy || folded.length > longestForm) continue;
      put(buckets, bucket(folded, folded.length), { folded, letters: lettersOf(folded), term });
    }
  }
  const kept = new Map<string, Found | undefined>();
  return {
    exact: (folded, language) => exact.get(folded)?.find((term) => fits(term, language)),
    like: (folded, language) => {
      const key = `${language} ${folded}`;
      if (kept.has(key)) return kept.get(key);
      const found = nearestOf(buckets, folded, language);
      if (kept.size < mostKept) kept.set(key, found);
      return found;
    },
  };
}

function termOf({ term, language }: VocabularyEntry): Term | undefined {
  const words = wordsIn(term);
  const folded = fold(term);
  if (folded === '' || term.length > 4 * longestForm) return undefined;
  return { words, text: words.join(' '), folded, language: language ? languageCode(language) : null };
}

const fits = (term: Term, language: string | null): boolean =>
  term.language === null || language === null || term.language === language;

function nearestOf(buckets: Map<string, Form[]>, folded: string, language: string | null): Found | undefined {
  if (folded.length < leastFuzzy || folded.length > longestForm) return undefined;
  const letters = lettersOf(folded);
  let best: Found | undefined;
  for (let length = folded.length - mostEdits; length <= folded.length + mostEdits; length += 1) {
    const longer = Math.max(length, folded.length);
    const most = Math.min(mostEdits, Math.floor(Math.min(length, folded.length) / leastFuzzy));
    if (Math.abs(length - folded.length) > most) continue;
    for (const form of buckets.get(bucket(folded, length)) ?? []) {
      // An edit changes two letters at most.
      if (bits(form.letters ^ letters) > 2 * most || !fits(form.term, language)) continue;
      // The term with an ending is another form of it, and right as it is.
      if (folded.startsWith(form.folded)) continue;
      const edits = distance(folded, form.folded, most);
      if (edits <= most && (best === undefined || edits / longer < best.off))
        best = { term: form.term, off: edits / longer };
    }
  }
  return best;
}

/** First letters that sound alike are one. */
const sounds: Readonly<Record<string, string>> = { c: 'k', q: 'k', z: 's', w: 'v', y: 'i', j: 'i' };
const bucket = (folded: string, length: number): string => `${sounds[folded[0] ?? ''] ?? folded[0]}${length}`;

/** Which letters a text has, as bits: those with the same last five bits share one. */
function lettersOf(folded: string): number {
  let letters = 0;
  for (let n = 0; n < folded.length; n += 1) letters |= 1 << (folded.charCodeAt(n) & 31);
  return letters;
}

function bits(value: number): number {
  let count = 0;
  for (let left = value; left !== 0; left &= left - 1) count += 1;
  return count;
}

function put<T>(map: Map<string, T[]>, key: string, value: T): void {
  const list = map.get(key);
  if (list) list.push(value);
  else if (key !== '') map.set(key, [value]);
}
