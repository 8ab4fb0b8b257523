import { blockAt, type PageIndex, sentencesIn, type Span, textAt } from './page.ts';
import { isTurning, tokensOf } from './tokens.ts';

/** An answer in a page's own words. */
export interface Answer {
  /** In one line; parts that do not stand beside each other are joined by ` … `. */
  readonly text: string;
  /** The sentences that were asked for, with what of their block stands beside them. */
  readonly span: Span;
}

/** Units of an answer. */
const mostAnswer = 500;
/** Blocks above one, with those above them. */
const mostAbove = 6;

/**
 * A part of a page as it may stand alone: whole sentences, with the rest of their block as far as it fits, and below what
 * says what the block is. Undefined when what has to be with it does not fit.
 */
export function answerAt(page: PageIndex, asked: Span): Answer | undefined {
  const [first, last] = [blockAt(page, asked.start), blockAt(page, Math.max(asked.start, asked.end - 1))];
  const above = aboveOf(page, first, last);
  const heads = above.map((at) => textAt(page, page.blocks[at] ?? asked)).filter((text) => text !== '');
  const room = mostAnswer - heads.reduce((sum, text) => sum + text.length + 3, 0);
  const start = page.blocks[first]?.start ?? asked.start;
  const end = page.blocks[last]?.end ?? asked.end;
  const own = end - start <= room ? { start, end } : fitting(page, { start, end }, asked, room);
  if (!own) return undefined;
  const span = own.end < end ? own : withNext(page, own, last, room);
  const body = textAt(page, span);
  const opens = span.start > start && !startsSentence(page, span.start) ? '… ' : '';
  const closes = span.end < end && !/[.!?…]["”’»)\]]*$/.test(body) ? ' …' : '';
  return { text: [...heads, `${opens}${body}${closes}`].join(' … '), span };
}

/** With the paragraphs after a paragraph that fit whole: one of them may deny it. */
function withNext({ text, blocks }: PageIndex, own: Span, at: number, room: number): Span {
  const isText = ({ start, end }: Span): boolean =>
    /[.!?…]["”’»)\]]*\s*$/.test(text.slice(Math.max(start, end - 8), end));
  const first = blocks[at];
  const above = String(first?.above);
  let { end } = own;
  if (!first || !isText(first)) return own;
  for (let next = blocks[at + 1], i = at + 1; next && i <= at + mostNext; next = blocks[(i += 1)]) {
    if (next.end - own.start > room || String(next.above) !== above || !isText(next)) break;
    end = next.end;
  }
  return { start: own.start, end };
}
/** Paragraphs that stand beside one. */
const mostNext = 2;

/** Blocks that stand above some, in the page's order, those above them too. */
function aboveOf({ blocks }: PageIndex, first: number, last: number): number[] {
  const found = new Set<number>();
  const waiting = [first, last];
  for (let at = waiting.pop(); at !== undefined && found.size < mostAbove; at = waiting.pop()) {
    for (const one of blocks[at]?.above ?? []) {
      if (one >= first || found.has(one)) continue;
      found.add(one);
      waiting.push(one);
    }
  }
  return [...found].sort((a, b) => a - b);
}

const startsSentence = ({ text }: PageIndex, at: number): boolean =>
  /(?:^|[.!?…\n]["”’»)\]]*)\s*$/.test(text.slice(Math.max(0, at - 8), at));

/** The sentences that were asked for, with those after and before them that fit. */
function fitting(page: PageIndex, block: Span, asked: Span, room: number): Span | undefined {
  const sentences = sentencesIn(page, block);
  let from = sentences.findIndex(({ end }) => end > asked.start);
  let to = sentences.findIndex(({ end }) => end >= asked.end);
  if (from === -1 || to === -1) return undefined;
  const length = (a: number, b: number): number => (sentences[b]?.end ?? 0) - (sentences[a]?.start ?? 0);
  if (length(from, to) > room)
    return clauses(page, { start: sentences[from]?.start ?? 0, end: sentences[to]?.end ?? 0 }, asked, room);
  const own = to;
  // The following text may deny it, so it comes first.
  while (to + 1 < sentences.length && length(from, to + 1) <= room) to += 1;
  while (from > 0 && length(from - 1, to) <= room) from -= 1;
  const next = sentences[to + 1];
  if (next && to === own && turns(page.text.slice(next.start, next.end))) return undefined;
  return { start: sentences[from]?.start ?? 0, end: sentences[to]?.end ?? 0 };
}

const clauseEnd = /[,;:—–)](?=\s)/g;

/** A part of a sentence that is too long, from one end of a clause to another; undefined when the rest turns it. */
function clauses(page: PageIndex, sentence: Span, asked: Span, room: number): Span | undefined {
  const ends = [...page.text.slice(sentence.start, sentence.end).matchAll(clauseEnd)].map(
    ({ index }) => sentence.start + index + 1,
  );
  const start = ends.findLast((at) => at <= asked.start) ?? sentence.start;
  const end =
    ends.findLast((at) => at >= asked.end && at - start <= room) ??
    (sentence.end - start <= room ? sentence.end : undefined);
  if (end === undefined) return withoutStops(page, sentence, asked, room);
  const left = [page.text.slice(sentence.start, start), page.text.slice(end, sentence.end)];
  return left.some(turns) ? undefined : { start, end };
}

/** A longer sentence is a text without stops, such as what was said in a film. */
const longestSentence = 4 * mostAnswer;
/** Units around a part of such a text in which it may be turned. */
const around = 200;

function withoutStops({ text }: PageIndex, sentence: Span, asked: Span, room: number): Span | undefined {
  if (sentence.end - sentence.start <= longestSentence || asked.end - asked.start > room) return undefined;
  const sides = [
    text.slice(Math.max(sentence.start, asked.start - around), asked.start),
    text.slice(asked.end, Math.min(sentence.end, asked.end + around)),
  ];
  return sides.some(turns) ? undefined : asked;
}

/** Whether some words may turn what they belong to. */
const turns = (text: string): boolean => tokensOf(text).some((token) => isTurning(token.text));
