import { contentWords } from '@svc/insights';

const longest = 300;

/**
 * A part of a text around the first word that was asked for from a place on, and where such words stand in it, in UTF-16
 * units.
 */
export function snippetOf(text: string, q: string, at = 0): { snippet: string; highlights: [number, number][] } {
  const stems = contentWords(q).map(stemOf);
  const found = [...text.matchAll(/[\p{L}\p{N}\p{M}]+/gu)].filter(([word]) => {
    const [folded = ''] = contentWords(word);
    return folded !== '' && stems.includes(stemOf(folded));
  });
  const first = found.find(({ index }) => index >= at)?.index ?? at;
  const from = text.length <= longest ? 0 : startAt(text, Math.max(0, Math.min(first - 80, text.length - longest)));
  const snippet = text.slice(from, from + longest).toWellFormed();
  const highlights = found
    .map(({ 0: word, index }): [number, number] => [index - from, index - from + word.length])
    .filter(([start, end]) => start >= 0 && end <= snippet.length);
  return { snippet, highlights };
}

/** The next beginning of a word. */
function startAt(text: string, at: number): number {
  if (at === 0) return 0;
  const space = text.indexOf(' ', at);
  return space === -1 || space - at > 40 ? at : space + 1;
}

/** Forms of one word mostly begin alike: enough to show them. */
export const stemOf = (word: string): string => (word.length <= 4 ? word : word.slice(0, Math.max(4, word.length - 3)));
