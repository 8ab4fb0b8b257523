import { options } from 'preact';

/** Marks that turn the direction of what follows, blanks and tags that nobody sees, and signs that steer a terminal. */
const hidden =
  /(?![\t\n\r])\p{Cc}|[\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\u2800\u3164\ufeff\uffa0\u{e0000}-\u{e007f}]/gu;

/**
 * Shows hidden marks in every text of every page, as `[U+202E]`: names and logs come from strangers, and a mark in one makes
 * another text of what stands behind it. Call it once, before the first page is drawn.
 */
export function showHiddenMarks(): void {
  options.vnode = (node) => {
    const text: unknown = node.props;
    if (node.type === null && typeof text === 'string' && text.search(hidden) >= 0)
      (node as { props: unknown }).props = visible(text);
  };
}

/** A text with its hidden marks shown. For what the pages' own texts are not: a title of a window, an attribute. */
export const visible = (text: string): string =>
  text.replace(hidden, (mark) => `[U+${(mark.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}]`);
