import type { HeardWindow, PlacedWord } from './types.ts';

/** Two hearings of one word may be so far apart: a match costs its distance, a word without a match half of this. */
const farthestMs = 400;
/** A gap of this width is as good as any; each ms less counts as `narrowCost` ms away from the cut. */
const wideMs = 200;
const narrowCost = 10;
/** Words that are compared on each side of a cut: 40 s of fast speech are 200. */
const mostCompared = 600;

/**
 * The words that each window keeps, so that none is lost or doubled. Neighbours heard the same audio around their cut. Their
 * words are paired there by time, never by text, and the seam is a place near the cut that parts no pair: in the middle of a
 * gap that both have, where there is one. So a word over the cut belongs to one window, whichever its times are in each.
 */
export function stitched(windows: readonly HeardWindow[]): PlacedWord[][] {
  const seams = windows.slice(1).map((later, n) => seamOf(windows[n] as HeardWindow, later));
  // Times of two windows may cross by some ms at the seam: the order of words holds, so the later ones are moved.
  let from = Number.NEGATIVE_INFINITY;
  return windows.map(({ words }, n) => {
    const kept = words
      .filter((word) => !seams[n - 1]?.droppedAfter.has(word) && !seams[n]?.droppedBefore.has(word))
      .map((word) => (word.startMs >= from ? word : { ...word, startMs: from, endMs: Math.max(from, word.endMs) }));
    from = kept.reduce((latest, { startMs }) => Math.max(latest, startMs), 0);
    return kept;
  });
}

interface Seam {
  /** Words of the earlier window that belong to the later one, and the reverse. */
  droppedBefore: Set<PlacedWord>;
  droppedAfter: Set<PlacedWord>;
}

const middle = ({ startMs, endMs }: PlacedWord): number => (startMs + endMs) / 2;

function seamOf(a: HeardWindow, b: HeardWindow): Seam {
  const cut = b.window.startMs;
  const before = shared(a.words, b.window.fromMs, a.window.toMs);
  const after = shared(b.words, b.window.fromMs, a.window.toMs);
  const [left, right] = [nearest(before, cut), nearest(after, cut)];
  const [i, j] = bestSplit(before.slice(...left), after.slice(...right), cut);
  return {
    droppedBefore: new Set(before.slice(left[0] + i)),
    droppedAfter: new Set(after.slice(0, right[0] + j)),
  };
}

/** Words in the audio that both windows have, by their middles. */
const shared = (words: readonly PlacedWord[], from: number, to: number): PlacedWord[] =>
  words.filter((word) => middle(word) >= from && middle(word) <= to).sort((one, other) => middle(one) - middle(other));

/** The part of a list that is compared: around the cut. */
function nearest(words: readonly PlacedWord[], cut: number): [number, number] {
  const at = words.findIndex((word) => middle(word) >= cut);
  const from = Math.max(0, (at < 0 ? words.length : at) - mostCompared / 2);
  return [from, Math.min(words.length, from + mostCompared)];
}

/** How many words of `a` stand before the seam, and how many of `b`. */
function bestSplit(a: readonly PlacedWord[], b: readonly PlacedWord[], cut: number): [number, number] {
  let best: [number, number] = [0, 0];
  let least = Number.POSITIVE_INFINITY;
  for (const [i, j] of pathOf(a, b)) {
    const from = Math.max(a[i - 1]?.endMs ?? -Infinity, b[j - 1]?.endMs ?? -Infinity);
    const to = Math.min(a[i]?.startMs ?? Infinity, b[j]?.startMs ?? Infinity);
    const at = Math.min(Math.max(cut, Math.min(from, to)), Math.max(from, to));
    const cost = Math.abs(at - cut) + narrowCost * Math.max(0, wideMs - Math.max(-wideMs, to - from));
    if (cost < least) {
      least = cost;
      best = [i, j];
    }
  }
  return best;
}

/**
 * The points (i, j) between words where no pair is parted, in order: the cheapest alignment of both lists, where a pair costs
 * its distance in ms.
 */
function pathOf(a: readonly PlacedWord[], b: readonly PlacedWord[]): [number, number][] {
  const width = b.length + 1;
  const alone = farthestMs / 2;
  // Cost of aligning what follows (i, j): so the path reads forward.
  const costs = new Float64Array((a.length + 1) * width);
  const cost = (i: number, j: number): number => costs[i * width + j] as number;
  const pair = (i: number, j: number): number => {
    const apart = Math.abs(middle(a[i] as PlacedWord) - middle(b[j] as PlacedWord));
    return apart > farthestMs ? Infinity : apart + cost(i + 1, j + 1);
  };
  for (let i = a.length; i >= 0; i -= 1) {
    for (let j = b.length; j >= 0; j -= 1) {
      if (i === a.length || j === b.length) costs[i * width + j] = alone * (a.length - i + b.length - j);
      else costs[i * width + j] = Math.min(pair(i, j), alone + cost(i + 1, j), alone + cost(i, j + 1));
    }
  }
  const path: [number, number][] = [[0, 0]];
  for (let i = 0, j = 0; i < a.length || j < b.length; path.push([i, j])) {
    const isPair = i < a.length && j < b.length && pair(i, j) === cost(i, j);
    // Where either may stand without a pair, the earlier one goes first.
    const inA = i < a.length && (j === b.length || alone + cost(i + 1, j) === cost(i, j));
    const inB = j < b.length && (i === a.length || alone + cost(i, j + 1) === cost(i, j));
    const isA = inA && (!inB || middle(a[i] as PlacedWord) <= middle(b[j] as PlacedWord));
    if (isPair || isA) i += 1;
    if (isPair || !isA) j += 1;
  }
  return path;
}
