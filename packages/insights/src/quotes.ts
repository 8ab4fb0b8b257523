import { startOf, tokensOf } from './words.ts';

/** UTF-16 units of a quote. */
const mostQuote = 300;

/**
 * The part of a text whose words are those of a quote, one after the other, as it stands in the text; undefined where there is
 * none. Case, diacritics, white space and signs between words may differ.
 */
export function quoteIn(text: string, quote: string): string | undefined {
  const wanted = tokensOf(quote).map((token) => token.text);
  if (wanted.length === 0) return undefined;
  const tokens = tokensOf(text);
  for (let at = 0; at + wanted.length <= tokens.length; at += 1) {
    let n = 0;
    while (n < wanted.length && tokens[at + n]?.text === wanted[n]) n += 1;
    const [first, last] = [tokens[at], tokens[at + n - 1]];
    if (n === wanted.length && first && last) return shortened(text.slice(first.start, withStop(text, last.end)));
  }
  return undefined;
}

/** Past the stop that follows a word. */
const withStop = (text: string, end: number): number => end + (/^[.!?…]/u.test(text.slice(end, end + 1)) ? 1 : 0);

/** The start of a text, at the end of a word, as long as a quote may be. */
export function shortened(text: string): string {
  if (text.length <= mostQuote) return text;
  const part = startOf(text, mostQuote);
  const space = part.lastIndexOf(' ');
  return space > mostQuote / 2 ? part.slice(0, space) : part;
}
