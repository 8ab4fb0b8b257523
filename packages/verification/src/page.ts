import { sentenceEnds } from './sentences.ts';
import { type Token, tokensOf } from './tokens.ts';

/** A part of the page's text: UTF-16 units, first and past the last. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A block of a page: a line, or some that were wrapped. */
interface Block extends Span {
  /** Blocks that say what it is: headings, the sentence before a list, the head of a table. */
  readonly above: readonly number[];
}

/** The visible text of a page, made ready for many questions. */
export interface PageIndex {
  readonly text: string;
  readonly tokens: readonly Token[];
  /** Where each token stands, by its place among the tokens. */
  readonly places: ReadonlyMap<string, readonly number[]>;
  readonly blocks: readonly Block[];
}

/** For each line of a page the lines that say what it is. */
export type Outline = readonly (readonly number[])[];

/** Reads a page once; 1,000,000 characters take about 150 ms. Without an outline lines are held together by how they look. */
export function indexPage(text: string, outline: Outline = []): PageIndex {
  const tokens = tokensOf(text);
  const places = new Map<string, number[]>();
  for (const [at, token] of tokens.entries()) {
    const known = places.get(token.text);
    if (known) known.push(at);
    else places.set(token.text, [at]);
  }
  const lines = linesOf(text);
  const blocks =
    outline.length === 0 ? wrapped(text, lines) : lines.map((line, i) => ({ ...line, above: outline[i] ?? [] }));
  return { text, tokens, places, blocks };
}

function linesOf(text: string): Span[] {
  const lines: Span[] = [];
  for (let start = 0; start <= text.length; ) {
    const found = text.indexOf('\n', start);
    const end = found === -1 ? text.length : found;
    lines.push({ start, end });
    start = end + 1;
  }
  return lines;
}

/** A shorter line below one that ends with a colon is one of its items. */
const longestItem = 200;

/** A line that goes on in lower case or with a figure, after one without a stop, was wrapped. */
function wrapped(text: string, lines: readonly Span[]): Block[] {
  const blocks: Block[] = [];
  let lead: number | undefined;
  for (const line of lines) {
    const before = blocks.at(-1);
    const own = text.slice(line.start, line.end);
    const isOpen =
      before !== undefined &&
      before.end > before.start &&
      !/[.!?…;:]["”’»)\]]*\s*$/.test(text.slice(before.start, before.end).slice(-8));
    if (isOpen && /^\s*[\p{Ll}\p{N}]/u.test(own.slice(0, 20))) {
      blocks[blocks.length - 1] = { ...before, end: line.end };
      continue;
    }
    if (own.length > longestItem || own.trim() === '') lead = undefined;
    blocks.push({ ...line, above: lead === undefined ? [] : [lead] });
    if (/:\s*$/.test(own)) lead = blocks.length - 1;
  }
  return blocks;
}

/** The page's own words at a span, in one line. */
export const textAt = (page: PageIndex, { start, end }: Span): string =>
  page.text.slice(start, end).replace(/\s+/g, ' ').trim();

/** The block that a place of the text stands in. */
export function blockAt({ blocks }: PageIndex, at: number): number {
  let [low, high] = [0, blocks.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((blocks[middle]?.start ?? 0) <= at) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** The sentences of a block. */
export function sentencesIn({ text }: PageIndex, { start, end }: Span): Span[] {
  let from = start;
  return sentenceEnds(text.slice(start, end)).map((past) => {
    const sentence = { start: from, end: start + past };
    from = sentence.end;
    return sentence;
  });
}
