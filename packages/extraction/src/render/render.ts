import { type Block, mostUnits, type Page, type PageFormat } from '../blocks.ts';
import { cut } from '../text.ts';
import { blockHtml, plainHtmlCut } from './html.ts';
import { blockMarkdown } from './markdown.ts';
import { blockText } from './text.ts';

/** Content of a page in a format. */
export interface Rendered {
  readonly content: string;
  /** UTF-16 units of `content`. */
  readonly chars: number;
  /** Content was left out. */
  readonly truncated: boolean;
}

const writers: Readonly<Record<PageFormat, (block: Block) => string>> = {
  text: blockText,
  markdown: blockMarkdown,
  html: blockHtml,
};

/**
 * The main content in a format, at most `maxChars` UTF-16 units and 1,000,000 (design: tools.md, Fetch extras). Text and
 * Markdown end anywhere but within a surrogate pair; HTML ends between blocks, or within one as plain text, and is
 * well-formed.
 */
export function renderPage(page: Pick<Page, 'blocks'>, format: PageFormat, maxChars: number): Rendered {
  const most = Math.max(0, Math.min(Math.floor(maxChars) || 0, mostUnits));
  const write = writers[format];
  const gap = format === 'html' ? '\n' : '\n\n';
  const parts: string[] = [];
  let chars = 0;
  for (const block of page.blocks) {
    const between = parts.length === 0 ? '' : gap;
    const text = write(block).toWellFormed();
    const room = most - chars - between.length;
    if (text.length <= room) {
      parts.push(between + text);
      chars += between.length + text.length;
      continue;
    }
    const rest = part(block, text, format, room);
    if (rest !== '') parts.push(between + rest);
    return done(parts, true);
  }
  return done(parts, false);
}

function done(parts: readonly string[], truncated: boolean): Rendered {
  const content = parts.join('');
  return { content, chars: content.length, truncated };
}

/** The part of a block that fits into `room` units. */
function part(block: Block, text: string, format: PageFormat, room: number): string {
  if (room <= 0) return '';
  if (format !== 'html') return cut(text, room);
  // A block that is too long for the room, as plain text: tags of it would stay open.
  return plainHtmlCut(block.type === 'plain' ? block.text : writers.text(block), room);
}
