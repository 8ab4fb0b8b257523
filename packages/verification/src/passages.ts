import { type Answer, answerAt } from './answers.ts';
import { type PageIndex, sentencesIn, type Span } from './page.ts';
import { rootOf } from './words.ts';

/** How a page relates to a question: what ranking needs of it. */
export interface Relevance {
  /** How often each word of the question stands there, by its place in the question. */
  readonly counts: readonly number[];
  /** Tokens of the page. */
  readonly length: number;
}

/** Okapi BM25's usual figures. */
const k1 = 1.2;
const b = 0.75;
const leastChars = 120;
const mostChars = 360;
const headlineChars = 60;
const headlineWeight = 0.5;

/** Counts a question's words (`queryWords`) on a page. */
export function relevanceOf(page: PageIndex, words: readonly string[]): Relevance {
  const at = new Map(words.map((word, index) => [word, index]));
  const counts = words.map(() => 0);
  for (const [token, places] of page.places) {
    const index = at.get(rootOf(token));
    if (index !== undefined) counts[index] = (counts[index] ?? 0) + places.length;
  }
  return { counts, length: page.tokens.length };
}

/** The BM25 score of each of some texts, by how often they hold the words of a question. */
export function bm25(texts: readonly Relevance[]): number[] {
  const mean = texts.reduce((sum, { length }) => sum + length, 0) / Math.max(1, texts.length) || 1;
  const words = texts[0]?.counts.length ?? 0;
  const weights = Array.from({ length: words }, (_, word) => {
    const having = texts.filter(({ counts }) => (counts[word] ?? 0) > 0).length;
    return Math.log(1 + (texts.length - having + 0.5) / (having + 0.5));
  });
  return texts.map(({ counts, length }) =>
    counts.reduce((sum, count, word) => {
      const part = (count * (k1 + 1)) / (count + k1 * (1 - b + (b * length) / mean));
      return sum + (weights[word] ?? 0) * part;
    }, 0),
  );
}

/** How many different words of a question a passage must hold: both of two, else two thirds. */
const mustHold = (words: number): number => (words <= 2 ? words : Math.ceil((words * 2) / 3));

/**
 * The part of a page, of one to three sentences, that answers a question best by BM25. Undefined when none holds enough of
 * its words (design: tools, Search).
 */
export function bestPassage(page: PageIndex, words: readonly string[]): Answer | undefined {
  if (words.length === 0) return undefined;
  const hits = hitsOf(page, words);
  if (new Set(hits.values()).size < mustHold(words.length)) return undefined;
  const sentences = sentencesOf(page);
  // Lines are joined only where no line alone says enough: a menu and a headline are no sentence.
  const best =
    bestOf(page, windowsOf(page, sentences, false), hits, words.length) ??
    bestOf(page, windowsOf(page, sentences, true), hits, words.length);
  return best && answerAt(page, best);
}

function bestOf(
  page: PageIndex,
  windows: readonly Window[],
  hits: ReadonlyMap<number, number>,
  words: number,
): Span | undefined {
  const counted = windows.map((window) => relevanceAt(hits, window, words));
  const scores = bm25(counted);
  let best: { span: Span; score: number } | undefined;
  for (const [index, { span }] of windows.entries()) {
    const held = counted[index]?.counts.filter((count) => count > 0).length ?? 0;
    if (held < mustHold(words)) continue;
    const score = (scores[index] ?? 0) * (isHeadline(page, span) ? headlineWeight : 1);
    if (!best || score > best.score) best = { span, score };
  }
  return best?.span;
}

/** Short and without a stop: it names what a page is about, and says nothing of it. */
const isHeadline = ({ text }: PageIndex, { start, end }: Span): boolean =>
  end - start < headlineChars && !/[.!?…]\s*$/.test(text.slice(start, end));

/** The tokens that are words of the question: place among the tokens, to which word. */
function hitsOf(page: PageIndex, words: readonly string[]): Map<number, number> {
  const at = new Map(words.map((word, index) => [word, index]));
  const hits = new Map<number, number>();
  for (const [token, places] of page.places) {
    const index = at.get(rootOf(token));
    if (index !== undefined) for (const place of places) hits.set(place, index);
  }
  return hits;
}

/** Some sentences in a row, and which tokens they hold. */
interface Window {
  readonly span: Span;
  readonly first: number;
  readonly past: number;
}

function relevanceAt(hits: ReadonlyMap<number, number>, { first, past }: Window, words: number): Relevance {
  const counts = Array.from({ length: words }, () => 0);
  for (let at = first; at < past; at += 1) {
    const word = hits.get(at);
    if (word !== undefined) counts[word] = (counts[word] ?? 0) + 1;
  }
  return { counts, length: past - first };
}

/** Sentences, each with those after it until it is long enough to say something; of its own line, or of further ones too. */
function windowsOf(page: PageIndex, sentences: readonly Window[], crossesLines: boolean): Window[] {
  return sentences.map((sentence, index) => {
    const { start } = sentence.span;
    let last = sentence;
    for (let next = index + 1; last.span.end - start < leastChars; next += 1) {
      const further = sentences[next];
      if (!further || further.span.end - start > mostChars) break;
      if (!crossesLines && isNewLine(page, further.first)) break;
      last = further;
    }
    return { span: { start, end: last.span.end }, first: sentence.first, past: last.past };
  });
}

const isNewLine = ({ text, tokens }: PageIndex, at: number): boolean =>
  text.slice(tokens[at - 1]?.end ?? 0, tokens[at]?.start ?? 0).includes('\n');

function sentencesOf(page: PageIndex): Window[] {
  const sentences: Window[] = [];
  let first = 0;
  for (const block of page.blocks) {
    for (const span of sentencesIn(page, block)) {
      let past = first;
      while ((page.tokens[past]?.start ?? Infinity) < span.end) past += 1;
      if (past > first) sentences.push(...cut(page, { span, first, past }));
      first = past;
    }
  }
  return sentences;
}

/** A sentence that is too long, such as a page without stops, is cut between words. */
function cut(page: PageIndex, sentence: Window): Window[] {
  if (sentence.span.end - sentence.span.start <= mostChars) return [sentence];
  const parts: Window[] = [];
  let first = sentence.first;
  for (let at = first; at < sentence.past; at += 1) {
    const start = page.tokens[first]?.start ?? 0;
    const next = page.tokens[at + 1];
    const isLast = at + 1 === sentence.past || !next;
    if (!isLast && next.end - start <= mostChars) continue;
    parts.push({ span: { start, end: isLast ? sentence.span.end : next.start }, first, past: at + 1 });
    first = at + 1;
  }
  return parts;
}
