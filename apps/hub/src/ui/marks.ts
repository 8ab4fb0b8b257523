import { options } from 'preact';

/** Marks that turn the direction of what follows, and blanks that nobody sees. */
const hidden = /[\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

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

const visible = (text: string): string =>
  text.replace(hidden, (mark) => `[U+${mark.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}]`);
