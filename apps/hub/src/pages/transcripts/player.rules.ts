/** Where something begins in a recording, in milliseconds; `seq` is its utterance, `at` the word's place in it. */
export interface Moment {
  startMs: number;
  seq: number;
  at: number;
}

/** Index of the last moment that began at `ms` or before; -1 before the first. `moments` are in order of their beginnings. */
export function momentAt(moments: readonly Pick<Moment, 'startMs'>[], ms: number): number {
  let [low, high] = [0, moments.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((moments[middle]?.startMs ?? 0) <= ms) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** A span of a recording whose words are known, in milliseconds. */
export interface Span {
  fromMs: number;
  toMs: number;
}

const spanMs = 600_000;
const marginMs = 60_000;

/** Ten minutes around a position. The span before stays as long as the position is a minute away from its ends. */
export function spanAround(ms: number, before?: Span): Span {
  if (before && isInside(ms, before)) return before;
  // Whole minutes, so that the same place asks for the same words.
  const fromMs = Math.max(0, Math.floor((ms - spanMs / 2) / marginMs) * marginMs);
  return { fromMs, toMs: fromMs + spanMs };
}

const isInside = (ms: number, { fromMs, toMs }: Span): boolean =>
  ms >= (fromMs === 0 ? 0 : fromMs + marginMs) && ms <= toMs - marginMs;

/** How fast a recording may be played. */
export const speeds = [0.75, 1, 1.25, 1.5, 1.75, 2] as const;

/** The next slower or faster speed; the same one at the ends. */
export function speedAfter(speed: number, step: 1 | -1): number {
  const at = speeds.findIndex((one) => one >= speed);
  return speeds[Math.max(0, Math.min(speeds.length - 1, (at < 0 ? speeds.length - 1 : at) + step))] ?? 1;
}

/** What a key does with the player. */
type KeyAct = { kind: 'toggle' } | { kind: 'skip'; byMs: number } | { kind: 'speed'; step: 1 | -1 };
/** One press of an arrow. */
export const skipMs = 5_000;

/**
 * What a key does. `isTaken`: the focus is in something that uses the key itself, such as a field, a button or a slider;
 * `areSingleKeysOn`: keys that type a character act.
 */
export function actOfKey(
  key: string,
  { isTaken, areSingleKeysOn }: { isTaken: boolean; areSingleKeysOn: boolean },
): KeyAct | undefined {
  if (isTaken) return undefined;
  if (key === 'ArrowLeft') return { kind: 'skip', byMs: -skipMs };
  if (key === 'ArrowRight') return { kind: 'skip', byMs: skipMs };
  if (!areSingleKeysOn) return undefined;
  if (key === ' ') return { kind: 'toggle' };
  if (key === '<') return { kind: 'speed', step: -1 };
  if (key === '>') return { kind: 'speed', step: 1 };
  return undefined;
}

/** A place of a recording as people write it: 0:07, 12:03, 1:02:03. */
export function clockOf(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const two = (value: number): string => String(value).padStart(2, '0');
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60];
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

/** The place that an address names as `t`, in milliseconds; undefined without one. */
export const momentOf = (text: string | null): number | undefined =>
  text !== null && /^\d{1,9}$/.test(text) ? Number(text) : undefined;

/** A part of a text: a word that is heard at a time, by its place among the words, or what stands between them. */
interface Piece {
  text: string;
  word?: number;
}

/** How far ahead of the last word the next one is looked for: more is another place where the same word stands. */
const mostGap = 40;

/**
 * A text cut at its words. All of the text is in the pieces, whatever the words are: a vocabulary changes the text and leaves
 * the words as they were heard, and a word that is not found stands in no piece of its own.
 */
export function piecesOf(text: string, words: readonly { text: string }[]): Piece[] {
  const pieces: Piece[] = [];
  let done = 0;
  for (const [place, { text: word }] of words.entries()) {
    const from = word === '' ? -1 : text.indexOf(word, done);
    if (from < 0 || from - done > mostGap) continue;
    if (from > done) pieces.push({ text: text.slice(done, from) });
    pieces.push({ text: word, word: place });
    done = from + word.length;
  }
  if (done < text.length) pieces.push({ text: text.slice(done) });
  return pieces;
}

/** A text cut at the ranges that a search marks, in UTF-16 units. Ranges out of order or out of the text mark nothing. */
export function markedOf(text: string, ranges: readonly (readonly number[])[]): { text: string; isMarked: boolean }[] {
  const parts: { text: string; isMarked: boolean }[] = [];
  let done = 0;
  for (const [from = 0, to = 0] of ranges) {
    if (from < done || to <= from || to > text.length) continue;
    if (from > done) parts.push({ text: text.slice(done, from), isMarked: false });
    parts.push({ text: text.slice(from, to), isMarked: true });
    done = to;
  }
  if (done < text.length) parts.push({ text: text.slice(done), isMarked: false });
  return parts;
}

/** An answer cut at its `[n]`, each the number of a citation. */
export function citedParts(answer: string): ({ text: string } | { n: number })[] {
  return answer
    .split(/(\[\d{1,4}\])/)
    .filter((part) => part !== '')
    .map((part) => {
      const [, n] = /^\[(\d+)\]$/.exec(part) ?? [];
      return n === undefined ? { text: part } : { n: Number(n) };
    });
}
