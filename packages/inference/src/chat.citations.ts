import type { Block, Citation } from './model.ts';
import { defined, numberOf, objectOf, objectsOf, textOf, type Value } from './values.ts';

/** Citations in a message or delta of chat completions. */
export const readCitations = (annotations: unknown): Citation[] =>
  objectsOf(annotations).map(({ url_citation: given }) => {
    const { url, title, start_index: start, end_index: end } = objectOf(given);
    return defined({ url: textOf(url), title: textOf(title), start: numberOf(start), end: numberOf(end) });
  });

/**
 * A citation of a text that stands at `from` and is `length` long, of all of it unless it has a place; undefined for one
 * without an address, such as of a document: there is no word for it here.
 */
export const writeCitation = (
  { url, title, start, end }: Citation,
  from: number,
  length: number,
): Value | undefined => {
  if (url === undefined) return undefined;
  const place = { start_index: from + (start ?? 0), end_index: from + (end ?? length) };
  return { type: 'url_citation', url_citation: { url, title: title ?? '', ...place } };
};

/** The citations of all texts, which are one text here. */
export function writeAnnotations(blocks: readonly Block[]): Value[] {
  let from = 0;
  return blocks.flatMap((block) => {
    if (block.type !== 'text') return [];
    const { text, citations = [] } = block;
    const written = citations.flatMap((citation): Value[] => {
      const annotation = writeCitation(citation, from, text.length);
      return annotation ? [annotation] : [];
    });
    from += text.length;
    return written;
  });
}
