import type { Heard } from './types.ts';
import { repaired } from './words.ts';

/** So many words at once are a heap: nobody says them in so short a time. */
const fewest = 4;
const leastMs = 40;

/**
 * Whether most words of a window stand in heaps, once they are in order: a provider that says one time of everything,
 * or whose times all go back, has told none.
 */
export function isHeaped(heard: Heard, durationMs: number): boolean {
  const words = repaired(heard, { n: 0, startMs: 0, endMs: durationMs, fromMs: 0, toMs: durationMs });
  const runs = words.length - fewest + 1;
  let heaps = 0;
  for (let at = 0; at < runs; at += 1) {
    const [first, last] = [words[at]?.startMs ?? 0, words[at + fewest - 1]?.startMs ?? 0];
    // Where another speaker begins time may go back.
    if (Math.abs(last - first) < leastMs) heaps += 1;
  }
  return heaps * 2 > Math.max(0, runs);
}
