import { indexPage, isParted, type PageIndex, type Span, textAt, withPunctuation } from './page.ts';
import { isDenial, isMultiplier, isNegation, isNumeric, isSign, type Token, tokensOf } from './tokens.ts';

/** A snippet that stands on its page. */
export interface Verified {
  /** The page's own words; fragments are joined by ` … `. */
  readonly text: string;
  readonly spans: readonly Span[];
}

/** A longer snippet is none; engines send 300 characters or so. */
const mostSnippetChars = 2_000;
/** A shorter fragment is found anywhere, and proves nothing. */
const leastTokens = 4;
/** One fragment at least has so many tokens in a row (design: tools, Search). */
const leastRun = 8;
/** How far from a fragment a negation of its sentence is looked for; longer sentences are lists. */
const sentenceReach = 60;

/**
 * Whether a snippet says what its page says, and where. Each fragment between ellipses must stand there token by token, in
 * the page's order, so no number, date, currency or negation can differ; nor may a fragment begin right after a negation,
 * or cut a number from its sign or its `million`. Undefined: it does not, or it is too short to tell (design: tools, Search).
 */
export function verifySnippet(page: PageIndex, snippet: string): Verified | undefined {
  if (snippet.length > mostSnippetChars) return undefined;
  const fragments = fragmentsOf(snippet);
  const spans: Span[] = [];
  let from = 0;
  let longest = 0;
  for (const fragment of fragments) {
    if (fragment.tokens.length < leastTokens) {
      if (mayBeLeftOut(page, fragment)) continue;
      return undefined;
    }
    const found = find(page, fragment, from);
    if (!found) return undefined;
    spans.push(found.span);
    from = found.last + 1;
    longest = Math.max(longest, found.last - found.first + 1);
  }
  if (longest < leastRun) return undefined;
  return { text: spans.map((span) => textAt(page, span)).join(' … '), spans };
}

/** The same for a page that is asked once. */
export const standsOn = (pageText: string, snippet: string): boolean =>
  verifySnippet(indexPage(pageText), snippet) !== undefined;

/** What stands between two ellipses or bars. */
interface Fragment {
  readonly tokens: readonly Token[];
  /** A title, a site's name or a date that an engine puts beside a snippet. */
  readonly isLabel: boolean;
  /** An ellipsis follows: the last word may be cut. */
  readonly isCut: boolean;
}

const ellipsis = /\s*(?:\[?(?:…|\.{3,})\]?)\s*/;
/** Between a label and a text: `Site | text`, `12 Mar 2024 — text`. */
const bar = /\s+[|·•›»]\s+/;
const dashAfterLabel = /^(.{1,40}?)\s+[—–-]\s+(.+)$/su;

function fragmentsOf(snippet: string): Fragment[] {
  const pieces = snippet.split(ellipsis);
  return pieces.flatMap((piece, index) => {
    const isCut = index < pieces.length - 1;
    const parts = piece.split(bar).flatMap((part, at) => (index === 0 && at === 0 ? withoutDate(part) : [part]));
    return parts
      .map((part, at) => ({
        tokens: tokensOf(part),
        isLabel: parts.length > 1,
        isCut: isCut && at === parts.length - 1,
      }))
      .filter(({ tokens }) => tokens.length > 0);
  });
}

/** A date and a dash before the text are a fragment of their own. */
function withoutDate(part: string): string[] {
  const match = dashAfterLabel.exec(part);
  if (!match?.[1] || !match[2]) return [part];
  const isDate = /\d{4}|\bago\b|\bacum\b/.test(match[1]);
  return isDate && tokensOf(match[1]).length <= 4 ? [match[1], match[2]] : [part];
}

/** A short fragment: on the page as it is, or a label that says nothing which could be wrong. Of a negation more is missing. */
function mayBeLeftOut(page: PageIndex, { tokens, isLabel }: Fragment): boolean {
  if (tokens.some(({ text }) => isNegation(text))) return false;
  const isPlain = tokens.every(({ text }) => !isNumeric(text) && !isSign(text));
  if (isLabel && isPlain) return true;
  return placesOf(page, tokens, tokens.length, 0).next().value !== undefined;
}

interface Found {
  readonly span: Span;
  readonly first: number;
  readonly last: number;
}

/** The first place, at or after a token, where a fragment stands and may be cut out. */
function find(page: PageIndex, { tokens, isCut }: Fragment, from: number): Found | undefined {
  // A word that is cut in two is left out: `the govern…`.
  const lengths = isCut && tokens.length > leastTokens ? [tokens.length, tokens.length - 1] : [tokens.length];
  for (const length of lengths) {
    for (const first of placesOf(page, tokens, length, from)) {
      const last = first + length - 1;
      if (length < tokens.length && !isCutWord(page, tokens.at(-1), last + 1)) continue;
      if (!mayBegin(page, first) || !mayEnd(page, last)) continue;
      return { span: spanOf(page, first, last), first, last };
    }
  }
  return undefined;
}

/** Every place where the first tokens of a fragment stand in a row, by the rarest of them. */
function* placesOf(page: PageIndex, tokens: readonly Token[], length: number, from: number): Generator<number> {
  let rarest: readonly number[] | undefined;
  let offset = 0;
  for (let at = 0; at < length; at += 1) {
    const places = page.places.get(tokens[at]?.text ?? '');
    if (!places) return;
    if (!rarest || places.length < rarest.length) {
      rarest = places;
      offset = at;
    }
  }
  for (const place of rarest ?? []) {
    const first = place - offset;
    if (first < from) continue;
    let at = 0;
    while (at < length && page.tokens[first + at]?.text === tokens[at]?.text) at += 1;
    if (at === length) yield first;
  }
}

/** Whether the last word of a fragment is the beginning of the page's word; a number that is cut is another number. */
function isCutWord(page: PageIndex, cut: Token | undefined, at: number): boolean {
  const whole = page.tokens[at]?.text ?? '';
  return cut !== undefined && !isNumeric(cut.text) && whole.startsWith(cut.text);
}

/** No negation stands before it in its sentence, and it does not begin inside of a number. */
function mayBegin(page: PageIndex, first: number): boolean {
  const own = page.tokens[first]?.text ?? '';
  const before = page.tokens[first - 1]?.text ?? '';
  if (isSign(own) || isNumeric(own)) {
    if ((isNumeric(before) || isSign(before)) && !isParted(page, first - 1, first)) return false;
  }
  if (isMultiplier(own) && isNumeric(before) && !isParted(page, first - 1, first)) return false;
  for (let at = first - 1; at >= first - sentenceReach && !isParted(page, at, at + 1); at -= 1) {
    if (isNegation(page.tokens[at]?.text ?? '')) return false;
  }
  return true;
}

/** It does not end inside of a number, nor before a negation, nor where the rest of its sentence denies it. */
function mayEnd(page: PageIndex, last: number): boolean {
  if (isParted(page, last, last + 1)) return true;
  const own = page.tokens[last]?.text ?? '';
  const after = page.tokens[last + 1]?.text ?? '';
  if (isNegation(after)) return false;
  for (let at = last + 1; at <= last + sentenceReach && !isParted(page, at - 1, at); at += 1) {
    if (isDenial(page.tokens[at]?.text ?? '')) return false;
  }
  return !(isNumeric(own) || isSign(own)) || !(isNumeric(after) || isSign(after) || isMultiplier(after));
}

function spanOf(page: PageIndex, first: number, last: number): Span {
  const start = page.tokens[first]?.start ?? 0;
  const end = page.tokens[last]?.end ?? 0;
  return withPunctuation(page, { start, end });
}
