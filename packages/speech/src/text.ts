/** Scripts that put no space between words, and their punctuation. */
const unspaced =
  '[\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}\\p{sc=Myanmar}\\u3000-\\u303f\\uff00-\\uff0f\\uff1a-\\uff20]';
const endsUnspaced = new RegExp(`${unspaced}\\p{M}*$`, 'u');
const startsUnspaced = new RegExp(`^${unspaced}`, 'u');
/** Longer words are cut: no word of a language is as long, and an utterance is bounded. */
const mostUnits = 200;
/** A run without a space in these scripts is looked at for words from this length on. */
const longRun = 8;
/**
 * Most words of an English recording are these: looked at first, a fifth of what making a transcript takes is spared.
 */
const plainFolded = /^[a-z0-9]*$/;
const plainWord = new RegExp(`^[!-~]{1,${mostUnits}}$`);

/** The letters and digits of a text in lower case, without diacritics and spaces: equal for texts that are spelled alike. */
export function fold(text: string): string {
  const lower = text.toLowerCase();
  return plainFolded.test(lower) ? lower : lower.normalize('NFKD').replaceAll(/[^\p{L}\p{N}]+/gu, '');
}

/** What stands between two words of a text: a space, or nothing in scripts that write words together. */
export const between = (before: string, after: string): '' | ' ' =>
  endsUnspaced.test(before) && startsUnspaced.test(after) ? '' : ' ';

/** Words as one text. */
export function joinWords(words: readonly { text: string }[]): string {
  const parts: string[] = [];
  let before: string | undefined;
  for (const { text } of words) {
    if (before !== undefined) parts.push(between(before, text));
    parts.push(text);
    before = text;
  }
  return parts.join('');
}

/**
 * Words of a text: what white space parts, and in scripts without spaces what a dictionary parts. Control characters count as
 * white space. No character else is lost; words of more than 200 UTF-16 units are cut.
 */
export function wordsIn(text: string): string[] {
  if (typeof text !== 'string') return [];
  if (plainWord.test(text)) return [text];
  const clean = text
    .toWellFormed()
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim();
  if (clean === '') return [];
  return clean.split(' ').flatMap((word) => {
    const parts = word.length > longRun && startsUnspaced.test(word) ? inDictionary(word) : [word];
    return parts.flatMap((part) => pieces(part, mostUnits));
  });
}

/** Words of a run without spaces; punctuation stays with the word before it. */
function inDictionary(run: string): string[] {
  const words: string[] = [];
  for (const { segment, isWordLike } of new Intl.Segmenter('und', { granularity: 'word' }).segment(run)) {
    if (isWordLike || words.length === 0) words.push(segment);
    else words[words.length - 1] += segment;
  }
  return words;
}

/**
 * A text in pieces of at most `most` UTF-16 units, or what else `size` counts. No grapheme is split, but one that is longer
 * than `most` is, between its code points.
 */
export function pieces(text: string, most: number, size = (part: string): number => part.length): string[] {
  if (size(text) <= most) return [text];
  const found: string[] = [];
  let piece = '';
  let taken = 0;
  const add = (part: string) => {
    if (piece !== '' && taken + size(part) > most) {
      found.push(piece);
      [piece, taken] = ['', 0];
    }
    piece += part;
    taken += size(part);
  };
  for (const { segment } of new Intl.Segmenter('und', { granularity: 'grapheme' }).segment(text)) {
    if (size(segment) <= most) add(segment);
    else for (const point of segment) add(point);
  }
  return piece === '' ? found : [...found, piece];
}

/** Whether a sentence ends with this word; closing quotes and brackets may follow its stop. */
export const endsSentence = (word: string): boolean => /[.!?…。！？؟।][\p{Pe}\p{Pf}"']*$/u.test(word);
/** Whether a clause ends with this word. */
export const endsClause = (word: string): boolean => /[,;:–—，、；：،][\p{Pe}\p{Pf}"']*$/u.test(word);
