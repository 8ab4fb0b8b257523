/** A word, or a segment of several, as one speaker said it after the one before it in the list. */
export interface Said {
  /** What a provider says of its time; undefined where it is no number. */
  startMs: number | undefined;
  endMs: number | undefined;
  /** How many words it has: what has no time of its own gets room by them. */
  words: number;
}

/** Its time after the repair. */
export interface Timed {
  startMs: number;
  endMs: number;
  /** The provider's own time was left out, or cut by more than a rounding. */
  moved: boolean;
}

/** A word takes so long where nothing tells. */
export const usualWordMs = 300;
/** Ends that reach into the next word by this are roundings of a provider. */
const roundingMs = 300;

/**
 * Times for what one speaker said, in the order in which it was said: that order holds, and times are hints. The
 * longest list of starts that do not go back is believed; what stands between two of them without a start of its own
 * follows the one before, up to the start of the next. No end goes past the start of what follows. O(n log n).
 */
export function inOrder(said: readonly Said[]): Timed[] {
  const believed = risingOf(said);
  const timed: Timed[] = [];
  const first = believed[0];
  const leading = said.slice(0, first ?? said.length);
  const firstMs = first === undefined ? Infinity : startOf(said, first);
  const begins = Math.min(firstMs, Math.max(0, first === undefined ? 0 : firstMs - sumOf(leading) * usualWordMs));
  timed.push(...follow(leading, begins, firstMs));
  for (const [n, at] of believed.entries()) {
    const after = believed[n + 1];
    const endsBy = after === undefined ? Infinity : startOf(said, after);
    const own = said[at] as Said;
    const startMs = startOf(said, at);
    const given = Math.max(startMs, own.endMs ?? startMs + usualWordMs * own.words);
    const others = said.slice(at + 1, after ?? said.length);
    if (others.length > 0 && given >= endsBy) {
      // It takes the place of those that follow it: they share the time up to the next one.
      timed.push(...follow([{ ...own, endMs: undefined }, ...others], startMs, endsBy));
      continue;
    }
    const endMs = Math.min(given, endsBy);
    timed.push({ startMs, endMs, moved: given - endMs > roundingMs }, ...follow(others, endMs, endsBy));
  }
  return timed;
}

const sumOf = (said: readonly Said[]): number => said.reduce((sum, { words }) => sum + words, 0);
const startOf = (said: readonly Said[], at: number): number => said[at]?.startMs ?? 0;

/** One after the other from a time on, each as long as its words take or as its own end says; all before `endsBy`. */
function follow(said: readonly Said[], startMs: number, endsBy: number): Timed[] {
  const scale = Math.min(1, (endsBy - startMs) / Math.max(1, sumOf(said) * usualWordMs));
  let at = startMs;
  return said.map(({ endMs, words }) => {
    const from = at;
    const usual = from + words * usualWordMs * scale;
    const isLast = endMs !== undefined && said.length === 1 && endMs > from && endMs <= endsBy;
    at = isLast ? endMs : usual;
    return { startMs: from, endMs: at, moved: true };
  });
}

/**
 * The places of the longest list of starts that do not go back; of two as long the one that believes what came
 * earlier.
 */
function risingOf(said: readonly Said[]): number[] {
  // Read from the end, with the latest start of a list of each length that ends there.
  const heads: number[] = [];
  const next = new Int32Array(said.length).fill(-1);
  for (let at = said.length - 1; at >= 0; at -= 1) {
    const startMs = said[at]?.startMs;
    if (startMs === undefined) continue;
    let low = 0;
    let high = heads.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (startOf(said, heads[middle] as number) >= startMs) low = middle + 1;
      else high = middle;
    }
    next[at] = low > 0 ? (heads[low - 1] as number) : -1;
    heads[low] = at;
  }
  const found: number[] = [];
  for (let at = heads.at(-1) ?? -1; at >= 0; at = next[at] as number) found.push(at);
  return found;
}
