/** How much of the longer text's words two texts must share, in hundredths (document 1, Pending prompt). */
export const leastPercent = 85;

/** Words of a text by how often each occurs. */
export interface Words {
  readonly counts: ReadonlyMap<string, number>;
  /** All of them, repeats counted. */
  readonly total: number;
}

/** A letter or digit, with the marks on it; joined where NFC has no single character for them. */
const word = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu;

/** Words of a text in NFC and lower case: runs of letters and digits. */
export const wordsOf = (text: string): Words => countsOf(text, (found) => found);

/** Pairs of words that follow each other. */
export function pairsOf(text: string): Words {
  let before = '';
  return countsOf(text, (found) => {
    const pair = `${before} ${found}`;
    before = found;
    return pair;
  });
}

function countsOf(text: string, what: (found: string) => string): Words {
  const counts = new Map<string, number>();
  let total = 0;
  for (const [found] of text.normalize('NFC').toLowerCase().matchAll(word)) {
    const counted = what(found);
    counts.set(counted, (counts.get(counted) ?? 0) + 1);
    total += 1;
  }
  return { counts, total };
}

/** How many words two texts share; one that both have twice counts twice. */
export function overlap(a: Words, b: Words): number {
  const [few, many] = a.counts.size <= b.counts.size ? [a, b] : [b, a];
  let shared = 0;
  for (const [found, count] of few.counts) shared += Math.min(count, many.counts.get(found) ?? 0);
  return shared;
}

/** Whether two texts share at least 85 % of the words of the longer one. Texts without a word share nothing. */
export function isOverlap(a: Words, b: Words): boolean {
  const longer = Math.max(a.total, b.total);
  return longer > 0 && overlap(a, b) * 100 >= longer * leastPercent;
}

/** How many words a text may have at least and at most that overlaps with one of `total`. */
export const wordCounts = (total: number): { least: number; most: number } => ({
  least: Math.ceil((total * leastPercent) / 100),
  most: Math.floor((total * 100) / leastPercent),
});
