import { isStopWord } from './language.ts';
import { fold } from './text.ts';
import type { Found, Term, Terms } from './vocabulary.index.ts';
import type { AssembledWord } from './types.ts';
import { endOf, mostCharacters } from './utterances.ts';
import { estimateWords } from './words.ts';

/** Longest run of words that one term replaces. */
const longestRun = 4;

/**
 * Words with the terms of a vocabulary in place of what was heard for them, or undefined when nothing changes. Exact
 * spellings go first, longer runs before shorter ones: what they cover is right and is not touched again. Then come spellings
 * that resemble a term, the closest first. Punctuation around a run stays. `characters` is the length of the text: a change
 * that would make it longer than an utterance may be is left out.
 */
export function corrected<T extends AssembledWord>(
  words: readonly T[],
  terms: Terms,
  language: string | null,
  characters: number,
): T[] | undefined {
  const parts = words.map(({ text }) => partsOf(text));
  const taken = words.map(() => false);
  const changes: Change[] = [];
  let room = mostCharacters - characters;
  const take = (run: Run, term: Term) => {
    for (let n = run.from; n < run.to; n += 1) taken[n] = true;
    const change = changeOf(words, parts, run, term);
    if (!change || change.longer > room) return;
    room -= change.longer;
    changes.push(change);
  };
  for (let from = 0; from < words.length; from += 1) {
    for (const run of runsFrom(parts, from).toReversed()) {
      const term = terms.exact(run.folded, language);
      if (!term || taken[from]) continue;
      take(run, term);
    }
  }
  const like = parts.flatMap((_, from) =>
    runsFrom(parts, from).flatMap((run) => {
      const found = taken.slice(run.from, run.to).includes(true) ? undefined : likeOf(parts, run, terms, language);
      return found ? [{ run, found }] : [];
    }),
  );
  like.sort((a, b) => a.found.off - b.found.off || a.run.to - a.run.from - (b.run.to - b.run.from));
  for (const { run, found } of like) {
    if (!taken.slice(run.from, run.to).includes(true)) take(run, found.term);
  }
  return changes.length === 0 ? undefined : replaced(words, changes);
}

/** A word's text: what stands before its first letter or digit, the core, what stands after its last. */
interface Parts {
  before: string;
  core: string;
  /** An ending that is written with an apostrophe or a hyphen, a part of the core; empty for most. */
  ending: string;
  after: string;
  folded: string;
}

interface Run {
  from: number;
  to: number;
  folded: string;
  /** Ending of the last word that is no part of `folded`. */
  ending: string;
}

interface Change {
  run: Run;
  texts: string[];
  /** Characters that the text grows by. */
  longer: number;
}

const leading = /^[^\p{L}\p{N}]+/u;
/** English 's, Romanian -ul, -ului and the like. */
const endings = /(?:['’]s|['’-](?:a|ei|i|ii|le|lui|lor|ua|ul|ului|uri|urile|urilor))$/iu;

function partsOf(text: string): Parts {
  const before = leading.exec(text)?.[0] ?? '';
  let end = text.length;
  while (end > before.length && !/[\p{L}\p{N}\p{M}]/u.test(text.charAt(end - 1)) && !isLow(text, end - 1)) end -= 1;
  const core = text.slice(before.length, end);
  return { before, core, ending: endings.exec(core)?.[0] ?? '', after: text.slice(end), folded: fold(core) };
}

/** The second half of a character beyond the first plane: it stays with its first. */
const isLow = (text: string, at: number): boolean => (text.charCodeAt(at) & 0xfc00) === 0xdc00;

/**
 * The runs of up to four words from a word on, the shortest first; nothing but spaces and hyphens stands inside of one. A run
 * whose last word has an ending is there without it too.
 */
function runsFrom(parts: readonly Parts[], from: number): Run[] {
  const runs: Run[] = [];
  let before = '';
  for (let to = from; to < Math.min(parts.length, from + longestRun); to += 1) {
    const part = parts[to] as Parts;
    if (part.folded === '' || (to > from && part.before !== '')) break;
    if (part.ending !== '') {
      const stem = fold(part.core.slice(0, -part.ending.length));
      if (stem !== '') runs.push({ from, to: to + 1, folded: before + stem, ending: part.ending });
    }
    before += part.folded;
    runs.push({ from, to: to + 1, folded: before, ending: '' });
    if (part.after !== '' && part.after !== '-') break;
  }
  return runs;
}

/** What a run resembles. Words of everyday speech alone are never a term. */
function likeOf(parts: readonly Parts[], run: Run, terms: Terms, language: string | null): Found | undefined {
  const cores = parts.slice(run.from, run.to);
  if (cores.every(({ folded }) => isStopWord(folded))) return undefined;
  return terms.like(run.folded, language);
}

/** How a run is rewritten, or undefined where it is right as it is. */
function changeOf(words: readonly AssembledWord[], parts: readonly Parts[], run: Run, term: Term): Change | undefined {
  const own = parts.slice(run.from, run.to);
  const cores = own.map(({ core }) => core).join(' ');
  const heard = cores.slice(0, cores.length - run.ending.length);
  if (heard === term.text || isOwnCase(heard, term) || (own.length === 1 && isPlain(heard, term))) return undefined;
  const [first, last] = [own[0], own.at(-1)] as [Parts, Parts];
  const texts = [...term.words];
  texts[0] = first.before + texts[0];
  texts[texts.length - 1] += run.ending + last.after;
  const before = words.slice(run.from, run.to).reduce((sum, { text }) => sum + text.length + 1, 0);
  return { run, texts, longer: texts.reduce((sum, text) => sum + text.length + 1, 0) - before };
}

/** A term that begins in lower case is written with a capital at the start of a sentence. */
const isOwnCase = (heard: string, { text }: Term): boolean =>
  heard.slice(1) === text.slice(1) && heard.slice(0, 1).toLowerCase() === text.slice(0, 1);

/** A word of everyday speech that differs in case only ("go", "may") is more likely the word than the term. */
const isPlain = (heard: string, { text, folded }: Term): boolean =>
  heard.toLowerCase() === text.toLowerCase() && isStopWord(folded);

function replaced<T extends AssembledWord>(words: readonly T[], changes: Change[]): T[] {
  const found: T[] = [];
  let at = 0;
  for (const { run, texts } of changes.toSorted((a, b) => a.run.from - b.run.from)) {
    found.push(...words.slice(at, run.from), ...rewritten(words.slice(run.from, run.to), texts));
    at = run.to;
  }
  return [...found, ...words.slice(at)];
}

/** The words of a run with other texts: one for one, or spread over the run's time. */
function rewritten<T extends AssembledWord>(run: readonly T[], texts: readonly string[]): T[] {
  const first = run[0] as T;
  if (texts.length === run.length) return run.map((word, n) => ({ ...word, text: texts[n] ?? word.text }));
  const known = run.flatMap(({ confidence }) => (confidence === null ? [] : [confidence]));
  const more = { confidence: known.length === 0 ? null : Math.min(...known) };
  const estimated = run.some((word) => word.estimated);
  if (texts.length === 1) return [{ ...first, ...more, text: texts[0] ?? '', endMs: endOf(run), estimated }];
  return estimateWords(texts.join(' '), first.startMs, endOf(run)).map(({ text, startMs, endMs }) => ({
    ...first,
    ...more,
    text,
    startMs,
    endMs,
    estimated: true,
  }));
}
