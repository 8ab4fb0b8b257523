/** Stands for a whole number in a segment. */
export const number = Symbol('#');
/** A text, or a whole number. */
export type Token = string | typeof number;

/** A line that is looked through; what is known of its numbers is kept for the next pattern. */
export interface Line {
  readonly text: string;
  /** Of each place: whether a number begins there (1), and whether one ended before it (2). */
  numbers?: Uint8Array;
}

/** The first place of a segment in a line at `from` or behind it. */
export type Finder = (line: Line, from: number) => readonly [from: number, to: number] | undefined;

/** Makes the finder of texts and numbers that follow each other; it takes a step or a few for each sign of a line. */
export function finderOf(segment: readonly Token[]): Finder {
  const texts = segment.filter((token) => typeof token === 'string');
  const longest = texts.toSorted((one, other) => other.length - one.length)[0] ?? '';
  const machine = machineOf(segment);
  const backwards = segment.toReversed();
  return (line, from) => {
    if (!line.text.includes(longest, from)) return undefined;
    const end = endIn(machine, line, from);
    return end === undefined ? undefined : [beginOf(backwards, line.text, end), end];
  };
}

/**
 * All beginnings of a segment that have been found so far, a bit each: a sign of the line moves them all one on (the
 * "shift and" of Baeza-Yates and Gonnet), so that a line is read once whatever repeats in it.
 */
interface Machine {
  readonly words: number;
  /** For each code unit: where in the segment it stands. */
  readonly units: ReadonlyMap<number, Uint32Array>;
  /** Where numbers stand. */
  readonly numbers: Uint32Array;
  readonly hasNumbers: boolean;
  /** The last place, in the last word. */
  readonly last: number;
  /** What is under way in a line, and waits for the end of a number: cleared for each search, made once. */
  readonly active: Uint32Array;
  readonly waiting: Uint32Array;
}

function machineOf(segment: readonly Token[]): Machine {
  const places = segment.flatMap((token): (number | undefined)[] =>
    token === number ? [undefined] : Array.from({ length: token.length }, (_, at) => token.charCodeAt(at)),
  );
  const words = Math.ceil(places.length / 32);
  const units = new Map<number, Uint32Array>();
  const numbers = new Uint32Array(words);
  for (const [place, unit] of places.entries()) {
    const bits = unit === undefined ? numbers : (units.get(unit) ?? new Uint32Array(words));
    if (unit !== undefined) units.set(unit, bits);
    bits[place >>> 5] = (bits[place >>> 5] ?? 0) | (1 << (place & 31));
  }
  const last = 1 << ((places.length - 1) & 31);
  const [active, waiting] = [new Uint32Array(words), new Uint32Array(words)];
  return { words, units, numbers, hasNumbers: segment.includes(number), last, active, waiting };
}

function endIn(machine: Machine, line: Line, from: number): number | undefined {
  const { words, units, numbers, hasNumbers, last, active, waiting } = machine;
  const { text } = line;
  const marks = hasNumbers ? (line.numbers ??= numbersOf(text)) : undefined;
  active.fill(0);
  waiting.fill(0);
  for (let at = from; at < text.length; at += 1) {
    const bits = units.get(text.charCodeAt(at));
    const begins = marks !== undefined && ((marks[at] ?? 0) & 1) !== 0;
    const ends = marks !== undefined && ((marks[at + 1] ?? 0) & 2) !== 0;
    let carry = 1;
    for (let word = 0; word < words; word += 1) {
      const was = active[word] ?? 0;
      const moved = (was << 1) | carry;
      carry = was >>> 31;
      if (begins) waiting[word] = moved & (numbers[word] ?? 0);
      active[word] = (moved & (bits?.[word] ?? 0)) | (ends ? (waiting[word] ?? 0) : 0);
      if (ends) waiting[word] = 0;
    }
    if (((active[words - 1] ?? 0) & last) !== 0) return at + 1;
  }
  return undefined;
}

function numbersOf(text: string): Uint8Array {
  const marks = new Uint8Array(text.length + 1);
  for (const { 0: found, index } of text.matchAll(/\d+(?:[.,]\d+)*/g)) {
    marks[index] = (marks[index] ?? 0) | 1;
    marks[index + found.length] = (marks[index + found.length] ?? 0) | 2;
  }
  return marks;
}

/** Where a segment begins that ends at `end`; its tokens from the last to the first. */
function beginOf(backwards: readonly Token[], text: string, end: number): number {
  let at = end;
  for (const token of backwards) {
    if (token !== number) at -= token.length;
    else while (isOfNumber(text, at - 1)) at -= 1;
  }
  return at;
}

const isDigit = (unit: number): boolean => unit >= 48 && unit <= 57;
const isOfNumber = (text: string, at: number): boolean => {
  const unit = text.charCodeAt(at);
  if (isDigit(unit)) return true;
  return (unit === 44 || unit === 46) && isDigit(text.charCodeAt(at - 1)) && isDigit(text.charCodeAt(at + 1));
};
