import { sentenceEnds } from '@svc/verification';

/** A sentence as it stands in its text: UTF-16 units, first and past the last. */
export interface Sentence {
  text: string;
  start: number;
  end: number;
}

/** Longer sentences of speech are speech without stops. */
const longestSpoken = 300;

/**
 * The sentences of a text, in order, without the white space around them. One that is longer than `longest` UTF-16 units is cut
 * at a comma or a space.
 */
export function sentencesOf(text: string, longest: number = longestSpoken): Sentence[] {
  const sentences: Sentence[] = [];
  const add = (from: number, to: number) => {
    const part = text.slice(from, to);
    const own = part.trim();
    const start = from + part.length - part.trimStart().length;
    if (own !== '') sentences.push({ text: own, start, end: start + own.length });
  };
  let from = 0;
  for (const end of sentenceEnds(text)) {
    while (end - from > longest) {
      const part = text.slice(from, from + longest);
      const comma = part.lastIndexOf(', ');
      const space = part.lastIndexOf(' ');
      const cut = comma > longest / 2 ? comma + 1 : space > 0 ? space : longestPair(part);
      add(from, from + cut);
      from += cut;
    }
    add(from, end);
    from = end;
  }
  return sentences;
}

/** Units of a text without the first half of a pair at its end. */
const longestPair = (text: string): number => (/[\ud800-\udbff]$/.test(text) ? text.length - 1 : text.length);

/** The first sentences, as many as fit into one text of `most` UTF-16 units, a character between them. */
export function fitting(sentences: readonly string[], most: number): string[] {
  let length = -1;
  const past = sentences.findIndex((sentence) => (length += sentence.length + 1) > most);
  return past === -1 ? [...sentences] : sentences.slice(0, past);
}
