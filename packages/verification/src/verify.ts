import { type Answer, answerAt } from './answers.ts';
import { blockAt, indexPage, type Outline, type PageIndex, sentencesIn, type Span } from './page.ts';
import { isMultiplier, isNumeric, isSign, type Token, tokensOf } from './tokens.ts';

/** A longer snippet does not count; engines send 300 characters or so. */
const mostSnippetChars = 2_000;
/** A shorter snippet is found anywhere, and says nothing. */
const leastTokens = 3;
/** A fragment of a snippet from several places stands for it when it has so many tokens. */
const leastAlone = 8;
/** A shorter fragment beside others may be a label: a site's name, a date. */
const leastFragment = 3;

/**
 * The text of a page where a snippet stands: whole sentences, with what belongs to them. Each fragment between ellipses
 * must stand there token by token, in the page's order and in one block, so no number, date, currency or negation can differ.
 * Undefined: it does not stand there, or is too short to tell (design: tools, Search).
 */
export function verifySnippet(page: PageIndex, snippet: string): Answer | undefined {
  if (snippet.length > mostSnippetChars) return undefined;
  const fragments = fragmentsOf(snippet);
  const telling = fragments.filter((fragment) => !isLabel(page, fragment));
  const isShort = telling.reduce((sum, { tokens }) => sum + tokens.length, 0) < leastTokens;
  const whole = answerTo(page, telling, isShort);
  if (whole || telling.length < 2) return whole;
  // Parts of several claims: the longest is answered, alone; an answer with all of them would seem to bear out their sum.
  const places = telling.map((one) => find(page, one, 0));
  const [longest] = telling.toSorted((one, other) => other.tokens.length - one.tokens.length);
  if (!longest || longest.tokens.length < leastAlone || places.includes(undefined)) return undefined;
  const answer = answerTo(page, [longest], false);
  const isWithin = ({ first }: Found): boolean => {
    const start = page.tokens[first]?.start ?? 0;
    return answer !== undefined && start >= answer.span.start && start < answer.span.end;
  };
  return places.every((place) => place !== undefined && isWithin(place)) ? undefined : answer;
}

function answerTo(page: PageIndex, fragments: readonly Fragment[], isShort: boolean): Answer | undefined {
  for (const first of placesOfFirst(page, fragments)) {
    const found = findAll(page, fragments, first);
    const answer = found && (!isShort || isWholeBlock(page, found)) ? answerAt(page, found) : undefined;
    if (answer) return answer;
  }
  return undefined;
}

/** The same for a page that is asked once. */
export const standsOn = (pageText: string, snippet: string, outline?: Outline): boolean =>
  verifySnippet(indexPage(pageText, outline), snippet) !== undefined;

/** The text between two ellipses or bars. */
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

/** A label that an engine puts beside a text: without a figure, or as the page has it. */
function isLabel(page: PageIndex, { tokens, isLabel: isBeside }: Fragment): boolean {
  if (tokens.length >= leastFragment && !isBeside) return false;
  if (tokens.length >= leastTokens + leastFragment) return false;
  const isPlain = tokens.every(({ text }) => !isNumeric(text) && !isSign(text));
  return isBeside && (isPlain || placesOf(page, tokens, tokens.length, 0).next().value !== undefined);
}

interface Found {
  readonly first: number;
  readonly last: number;
}

/** Places where the first fragment may stand: another one may have the rest in its block. */
function* placesOfFirst(page: PageIndex, [first]: readonly Fragment[]): Generator<number> {
  if (!first) return;
  let tried = 0;
  for (const at of placesOf(page, first.tokens, Math.max(1, first.tokens.length - (first.isCut ? 1 : 0)), 0)) {
    if ((tried += 1) > mostPlaces) return;
    yield at;
  }
}
const mostPlaces = 50;

/** All fragments from a place on, one behind the other, so that together they are one claim. */
function findAll(page: PageIndex, fragments: readonly Fragment[], at: number): Span | undefined {
  let from = at;
  let whole: Span | undefined;
  for (const fragment of fragments) {
    const found = find(page, fragment, from);
    if (!found || (whole === undefined && found.first !== at)) return undefined;
    const own = { start: page.tokens[found.first]?.start ?? 0, end: page.tokens[found.last]?.end ?? 0 };
    if (!isOneBlock(page, own) || (whole && !mayFollow(page, whole, own))) return undefined;
    whole = { start: whole?.start ?? own.start, end: own.end };
    from = found.last + 1;
  }
  return whole;
}

/** In one block, or from a sentence or heading into the block that follows it: cells and items beside each other are not one claim. */
function isOneBlock(page: PageIndex, { start, end }: Span): boolean {
  const [first, last] = [blockAt(page, start), blockAt(page, end - 1)];
  for (let at = first; at < last; at += 1) {
    const own = page.blocks[at];
    const isHead = page.blocks[at + 1]?.above.includes(at) === true;
    if (!isHead && !(own && endsSentence(page, own, own.end))) return false;
  }
  return true;
}

/** In the same sentence, or from the end of one to the beginning of another of the same block: other parts are of other claims. */
function mayFollow(page: PageIndex, before: Span, after: Span): boolean {
  const [first, last] = [blockAt(page, before.end - 1), blockAt(page, after.start)];
  const block = page.blocks[first];
  if (!block) return false;
  if (first !== last) return page.blocks[last]?.above.includes(first) === true && endsSentence(page, block, before.end);
  const own = sentencesIn(page, block).find(({ end }) => end >= before.end);
  if (own && after.end <= own.end) return true;
  return endsSentence(page, block, before.end) && startsSentence(page, block, after.start);
}

const isWholeBlock = (page: PageIndex, { start, end }: Span): boolean => {
  const block = page.blocks[blockAt(page, start)];
  return (
    block !== undefined && startsSentence(page, block, start) && /^[\s.:;!?]*$/.test(page.text.slice(end, block.end))
  );
};

/** Nothing but signs stands between a place and the end of its sentence. */
const endsSentence = ({ text }: PageIndex, { end }: Span, at: number): boolean =>
  /^["”’»)\]]*(?:[.!?…:]|\s*$)/.test(text.slice(at, Math.min(end, at + 8))) ||
  /[.!?…:]["”’»)\]]*\s*$/.test(text.slice(at - 6, at));

const startsSentence = ({ text }: PageIndex, { start }: Span, at: number): boolean =>
  /(?:^|[.!?…:]["”’»)\]]*\s+)["“„‘«([]*$/.test(text.slice(Math.max(start, at - 8), at));

/** The first place, at or after a token, where a fragment stands without being cut out of a number. */
function find(page: PageIndex, { tokens, isCut }: Fragment, from: number): Found | undefined {
  // A word that is cut in two is left out: `the govern…`.
  const lengths = isCut && tokens.length > 1 ? [tokens.length, tokens.length - 1] : [tokens.length];
  for (const length of lengths) {
    for (const first of placesOf(page, tokens, length, from)) {
      const last = first + length - 1;
      if (length < tokens.length && !isCutWord(page, tokens.at(-1), last + 1)) continue;
      if (isInNumber(page, first) || isInNumber(page, last + 1)) continue;
      return { first, last };
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

/** Whether a number goes on over the place before a token: 1 234 000, −5, 5 million. */
function isInNumber(page: PageIndex, at: number): boolean {
  const [before, after] = [page.tokens[at - 1], page.tokens[at]];
  if (!before || !after || /[.!?;…\n\t]/.test(page.text.slice(before.end, after.start))) return false;
  const isFigure = (text: string): boolean => isNumeric(text) || isSign(text);
  return isFigure(before.text) && (isFigure(after.text) || isMultiplier(after.text));
}
