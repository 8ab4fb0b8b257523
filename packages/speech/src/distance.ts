/**
 * Damerau-Levenshtein distance (optimal string alignment) of two texts by UTF-16 units, or most + 1 when it is greater than
 * `most`. O(length × most).
 */
export function distance(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most) return most + 1;
  const width = b.length + 1;
  let before2 = new Uint16Array(width);
  let before = Uint16Array.from({ length: width }, (_, n) => Math.min(n, most + 1));
  let row = new Uint16Array(width);
  for (let i = 1; i <= a.length; i += 1) {
    row.fill(most + 1);
    row[0] = Math.min(i, most + 1);
    let least = row[0];
    for (let j = Math.max(1, i - most); j <= Math.min(b.length, i + most); j += 1) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let best = Math.min((before[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (before[j - 1] ?? 0) + cost);
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isSwapped) best = Math.min(best, (before2[j - 2] ?? 0) + 1);
      row[j] = Math.min(best, most + 1);
      least = Math.min(least, best);
    }
    if (least > most) return most + 1;
    [before2, before, row] = [before, row, before2];
  }
  return before[b.length] ?? most + 1;
}
