import { createHash } from 'node:crypto';
import { type Finder, finderOf, type Line, number, type Token } from './segments.ts';

/**
 * What an owner says of an output that it is no change (`ignore` of a schedule). In a pattern `*` is any text of a
 * line, as little as fits, at its ends all of it; `#` is a whole number; `\` takes a sign as it is; all else is itself.
 * A pattern is found anywhere in a line, from left to right and without a step back, so that no pattern takes long.
 */

/** Parts of lines that do not count. */
export interface Ignored {
  /** Two lists of patterns that differ have different ids. */
  readonly id: string;
  /** A line without what does not count; undefined where nothing of it counts. */
  leave(line: string): string | undefined;
}

/** What stands between two `*`: texts and numbers that follow each other. */
type Segment = readonly Token[];

interface Pattern {
  readonly segments: readonly Segment[];
  readonly fromStart: boolean;
  readonly toEnd: boolean;
}

const wordOrBlank = /[\p{L}\p{N}\s]/u;
/** What nobody writes but in a regular expression, which would be found nowhere. */
const asRegularExpression = /^\^|[^\s*#]\$$|\.[*+?]|\)[*+{]|\]\+|\(\?|\[\^/;

/** Why a pattern cannot be read, and what to write; undefined: it can. */
export function ignoreFault(pattern: string): string | undefined {
  // oxlint-disable-next-line no-control-regex -- a line has none
  if (/[\u0000-\u0008\u000a-\u001f\u007f]/.test(pattern)) return 'must be one line, without control characters';
  const signs = Array.from(pattern);
  for (let at = 0; at < signs.length; at += 1) {
    if (signs[at] !== '\\') continue;
    at += 1;
    const next = signs[at];
    if (next === undefined || wordOrBlank.test(next))
      return String.raw`has a "\" before no sign: write "\\" for itself, and "#" for a number`;
  }
  if (asRegularExpression.test(pattern.replaceAll(/\\./gsu, ' ')))
    return String.raw`reads like a regular expression: "*" is any text, "#" a number, and a sign after "\" itself`;
  const { segments } = parse(pattern);
  if (segments.flat().every((token) => typeof token === 'string' && token.trim() === ''))
    return 'must say more than "*" and blanks, which is every line';
  return segments.some(isNowhere) ? '"#" is a whole number: no digit and no other "#" stands beside it' : undefined;
}

/** A number next to a number is one number. */
const isNowhere = (segment: Segment): boolean =>
  segment.some((token, at) => {
    const [before, after] = [segment[at - 1], segment[at + 1]];
    if (token !== number) return false;
    if (after === number) return true;
    return (
      (typeof before === 'string' && /\d[.,]?$/.test(before)) || (typeof after === 'string' && /^[.,]?\d/.test(after))
    );
  });

function parse(text: string): Pattern {
  const segments: Token[][] = [[]];
  let literal = '';
  const last = (): Token[] => segments.at(-1) as Token[];
  const close = (): void => {
    if (literal !== '') last().push(literal);
    literal = '';
  };
  const signs = Array.from(text);
  for (let at = 0; at < signs.length; at += 1) {
    const sign = signs[at] as string;
    if (sign === '\\') literal += signs[(at += 1)] ?? '';
    else if (sign === '*' || sign === '#') {
      close();
      if (sign === '*') segments.push([]);
      else last().push(number);
    } else literal += sign;
  }
  close();
  return {
    segments: segments.filter((segment) => segment.length > 0),
    fromStart: segments[0]?.length === 0,
    toEnd: last().length === 0,
  };
}

/** Reads patterns; those that cannot be read are left out, as a later release may take more. Undefined: there are none. */
export function ignoring(patterns: readonly string[] | null | undefined): Ignored | undefined {
  const read = [...new Set(patterns)].filter((pattern) => ignoreFault(pattern) === undefined).toSorted();
  if (read.length === 0) return undefined;
  const finders = read.map(parse).map((pattern) => ({ ...pattern, finders: pattern.segments.map(finderOf) }));
  return {
    id: createHash('sha256').update(JSON.stringify(read)).digest('hex').slice(0, 16),
    leave(text) {
      const line: Line = { text };
      let covered: Uint8Array | undefined;
      for (const pattern of finders) {
        for (const [from, to] of spansOf(pattern, line)) {
          covered ??= new Uint8Array(text.length);
          covered.fill(1, from, to);
        }
      }
      if (covered === undefined) return text;
      const left = uncovered(text, covered);
      return left.trim() === '' ? undefined : left;
    },
  };
}

function uncovered(text: string, covered: Uint8Array): string {
  let left = '';
  for (let at = 0; at < text.length; ) {
    const end = covered.indexOf(1, at);
    left += text.slice(at, end < 0 ? text.length : end);
    if (end < 0) break;
    const next = covered.indexOf(0, end);
    at = next < 0 ? text.length : next;
  }
  return left;
}

/**
 * Where a pattern is in a line. The first place of each segment behind that of the one before is the best: where one is
 * missing there, no other place of those before helps.
 */
function* spansOf(
  { finders, fromStart, toEnd }: Pattern & { finders: readonly Finder[] },
  line: Line,
): Generator<readonly [from: number, to: number]> {
  for (let at = 0; at < line.text.length; ) {
    let from: number | undefined = fromStart ? at : undefined;
    let to = at;
    for (const find of finders) {
      const place = find(line, to);
      if (!place) return;
      from ??= place[0];
      to = place[1];
    }
    at = toEnd ? line.text.length : to;
    yield [from ?? 0, at];
  }
}
