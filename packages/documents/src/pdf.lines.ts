/** A word, how wide it is, and the style that it is drawn in. */
export interface Word<Style> {
  text: string;
  width: number;
  style: Style;
}

/** Letters of scripts that are written from right to left. */
const rightToLeft = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
/** Whether a text has letters that are written from right to left. */
export const hasRightToLeft = (text: string): boolean => rightToLeft.test(text);

const strong = /\p{L}/u;

/** Whether a paragraph runs from right to left: its first letter says so. */
export function isRightToLeft(text: string): boolean {
  const first = strong.exec(text);
  return first !== null && hasRightToLeft(first[0]);
}

/**
 * Words filled into lines of a width. A word that is wider than a line has been cut by the caller.
 * `space` is the width between two words.
 */
export function linesOf<Style>(words: Iterable<Word<Style>>, width: number, space: number): Word<Style>[][] {
  const lines: Word<Style>[][] = [];
  let line: Word<Style>[] = [];
  let used = 0;
  for (const word of words) {
    const next = line.length === 0 ? word.width : used + space + word.width;
    if (line.length > 0 && next > width) {
      lines.push(line);
      line = [];
      used = word.width;
    } else {
      used = next;
    }
    line.push(word);
  }
  if (line.length > 0) lines.push(line);
  return lines;
}

/**
 * The words of a line in the order in which they stand on paper: runs of words of the other direction are turned.
 * A word's letters are turned by the font's shaping. Short of the Unicode algorithm (levels, numbers within words), enough
 * to read names and quotations.
 */
export function onPaper<Style>(line: readonly Word<Style>[], base: boolean): Word<Style>[] {
  const runs: { turned: boolean; words: Word<Style>[] }[] = [];
  for (const word of line) {
    const turned = hasRightToLeft(word.text) || (base && !strong.test(word.text));
    const last = runs.at(-1);
    if (last?.turned === turned) last.words.push(word);
    else runs.push({ turned, words: [word] });
  }
  const ordered = base ? runs.toReversed() : runs;
  return ordered.flatMap(({ turned, words }) => (turned ? words.toReversed() : words));
}
