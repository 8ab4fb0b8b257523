import { normalized, prefixUnits } from './text.ts';
import { isOverlap, wordsOf } from './words.ts';

/** How two texts are the same prompt; undefined: they are not. */
export type Kinship = 'same' | 'prefix' | 'overlap' | undefined;

/** Whether a turn's text is that of a prompt (document 1, Pending prompt; design: prompts, Matching). */
export function compare(a: string, b: string): Kinship {
  const [one, other] = [normalized(a), normalized(b)];
  if (one === other) return 'same';
  if (one.length >= prefixUnits && one.slice(0, prefixUnits) === other.slice(0, prefixUnits)) return 'prefix';
  return isOverlap(wordsOf(one), wordsOf(other)) ? 'overlap' : undefined;
}
