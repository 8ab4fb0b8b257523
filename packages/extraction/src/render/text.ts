import type { Block, Run } from '../blocks.ts';

/** Text of runs, without their style. */
const textOfRuns = (runs: readonly Run[]): string => runs.map(({ text }) => text).join('');

/** A block as plain text: cells a tab apart, lists with bullets, code as it stands. */
export function blockText(block: Block): string {
  switch (block.type) {
    case 'heading':
    case 'paragraph':
      return textOfRuns(block.runs);
    case 'list':
      return block.items.map((item, at) => itemText(item, block.ordered ? `${block.start + at}. ` : '- ')).join('\n');
    case 'table':
      return block.rows.map((row) => row.map((cell) => textOfRuns(cell)).join('\t')).join('\n');
    case 'code':
    case 'plain':
      return block.text;
    case 'quote':
      return prefixed(block.blocks.map(blockText).join('\n\n'), '> ', '> ');
    case 'image':
      return `[Image: ${block.alt}]`;
    case 'rule':
      break;
  }
  return '---';
}

function itemText(item: readonly Block[], bullet: string): string {
  const text = item.map((block, at) => (at === 0 ? '' : gap(block)) + blockText(block)).join('');
  return prefixed(text, bullet, ' '.repeat(bullet.length));
}

/** A list in an item follows its text at once. */
export const gap = (block: Block): string => (block.type === 'list' ? '\n' : '\n\n');

/** Puts a prefix before the first line, and one before each other that is not empty. */
export const prefixed = (text: string, first: string, others: string): string =>
  text
    .split('\n')
    .map((line, at) => (at === 0 ? first : line === '' ? others.trimEnd() : others) + line)
    .join('\n');
