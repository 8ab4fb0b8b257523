import type { Block, Run } from '../blocks.ts';
import { gap, prefixed } from './text.ts';

/** A block as Markdown (GFM). What a page writes is text in it: nothing of it becomes markup of its own. */
export function blockMarkdown(block: Block): string {
  switch (block.type) {
    case 'heading':
      return `${'#'.repeat(block.level)} ${title(oneLine(inline(block.runs)))}`;
    case 'paragraph':
      return lines(inline(block.runs));
    case 'list':
      return block.items
        .map((item, at) => itemMarkdown(item, block.ordered ? `${block.start + at}. ` : '- '))
        .join('\n');
    case 'table':
      return table(block.rows, block.header);
    case 'code': {
      const fence = fenceFor(block.text, 3);
      return `${fence}${block.language}\n${block.text}\n${fence}`;
    }
    case 'quote':
      return prefixed(block.blocks.map(blockMarkdown).join('\n\n'), '> ', '> ');
    case 'image':
      return `*${escape(`[Image: ${block.alt}]`)}*`;
    case 'rule':
      break;
    case 'plain':
      return block.text;
  }
  return '---';
}

function itemMarkdown(item: readonly Block[], bullet: string): string {
  const text = item.map((block, at) => (at === 0 ? '' : gap(block)) + blockMarkdown(block)).join('');
  return prefixed(text, bullet, ' '.repeat(bullet.length));
}

/** Cells of a table whose short rows are filled up. */
const mostPadded = 100_000;

function table(rows: readonly (readonly (readonly Run[])[])[], header: boolean): string {
  const width = rows.reduce((most, row) => Math.max(most, row.length), 0);
  // Rows may have fewer cells than the head; where a hostile table has many, its gaps are not drawn.
  const least = width * rows.length > mostPadded ? 1 : width;
  const line = (cells: readonly string[]): string =>
    `| ${[...cells, ...Array.from({ length: Math.max(0, least - cells.length) }, () => '')].join(' | ')} |`;
  const cell = (runs: readonly Run[]): string =>
    inline(runs)
      .replace(/\s*\n\s*/g, ' ')
      .replaceAll('|', '\\|');
  const [first, ...rest] = rows.map((row) => line(row.map(cell)));
  const rule = line(Array.from({ length: width }, () => '---'));
  // A table of Markdown has a header always; one without gets empty names.
  return (header ? [first, rule, ...rest] : [line(Array.from({ length: width }, () => '')), rule, first, ...rest]).join(
    '\n',
  );
}

/** Line breaks as spaces. A pattern with the white space around them takes squared time on much of it. */
const oneLine = (text: string): string => (text.includes('\n') ? text.replace(/\s+/g, ' ') : text);

/** `#` at a heading's end would be left out. */
const title = (text: string): string => (text.endsWith('#') ? `${text.slice(0, -1)}\\#` : text);

/** A run of backticks longer than any in the text. */
function fenceFor(text: string, least: number): string {
  let longest = 0;
  for (const [ticks] of text.matchAll(/`+/g)) longest = Math.max(longest, ticks.length);
  return '`'.repeat(Math.max(least, longest + 1));
}

/** Runs as Markdown; runs of one link stand in one pair of brackets. */
function inline(runs: readonly Run[]): string {
  const groups: Run[][] = [];
  for (const run of runs) {
    const last = groups.at(-1);
    if (run.href !== undefined && last?.[0]?.href === run.href) last.push(run);
    else groups.push([run]);
  }
  return groups.map((group) => linked(group.map(styled).join(''), group[0]?.href)).join('');
}

const linked = (inner: string, href: string | undefined): string =>
  href === undefined || inner.trim() === '' ? inner : link(inner, href);

const link = (inner: string, href: string): string => {
  const address = href.replace(
    /[()<>\\\s]/g,
    (character) => `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
  return outside(inner, (text) => `[${oneLine(text)}](${address})`);
};

function styled({ text, code, strong, emphasis }: Run): string {
  if (text.trim() === '') return text;
  let result = code === true ? outside(text, codeSpan) : escape(text);
  if (emphasis === true) result = outside(result, (inner) => `*${inner}*`);
  return strong === true ? outside(result, (inner) => `**${inner}**`) : result;
}

/** Changes a text between the white space at its ends: markers must touch words. */
function outside(text: string, change: (inner: string) => string): string {
  const inner = text.trim();
  if (inner === '') return text;
  const start = text.indexOf(inner);
  return text.slice(0, start) + change(inner) + text.slice(start + inner.length);
}

function codeSpan(text: string): string {
  const line = text.replaceAll('\n', ' ');
  const fence = fenceFor(line, 1);
  const space = line.startsWith('`') || line.endsWith('`') ? ' ' : '';
  return fence + space + line + space + fence;
}

const escape = (text: string): string =>
  text
    .replace(/[\\`*[\]<]/g, '\\$&')
    .replace(/(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu, '\\_')
    .replace(/~(?=~)|(?<=~)~/g, '\\~')
    .replace(/&(?=#?\w{1,31};)/g, '\\&');

/** Keeps what begins a line from being a heading, list, quote, rule, table or fence; breaks lines where the page does. */
const lines = (text: string): string =>
  text
    .split('\n')
    .map((line) =>
      line
        .trimStart()
        .replace(/^(?:#{1,6}(?=\s|$)|[-+](?=\s|$)|[-=]+\s*$|>|\||~(?=~)|:(?=-))/, '\\$&')
        .replace(/^(\d{1,9})([.)])(?=\s|$)/, '$1\\$2'),
    )
    .join('  \n');
