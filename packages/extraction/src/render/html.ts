import type { Block, Run } from '../blocks.ts';

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text for between tags or in a quoted attribute. */
const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => entities[character] ?? '');

/** A block as HTML: tags of our own only, whole. */
export function blockHtml(block: Block): string {
  switch (block.type) {
    case 'heading':
      return `<h${block.level}>${inline(block.runs)}</h${block.level}>`;
    case 'paragraph':
      return `<p>${inline(block.runs)}</p>`;
    case 'list': {
      const tag = block.ordered ? 'ol' : 'ul';
      const start = block.ordered && block.start !== 1 ? ` start="${block.start}"` : '';
      return `<${tag}${start}>${block.items.map((item) => `<li>${itemHtml(item)}</li>`).join('')}</${tag}>`;
    }
    case 'table':
      return table(block.rows, block.header);
    case 'code': {
      const name = block.language === '' ? '' : ` class="language-${escapeHtml(block.language)}"`;
      return `<pre><code${name}>${escapeHtml(block.text)}</code></pre>`;
    }
    case 'quote':
      return `<blockquote>${block.blocks.map(blockHtml).join('')}</blockquote>`;
    case 'image':
      return `<p><em>${escapeHtml(`[Image: ${block.alt}]`)}</em></p>`;
    case 'rule':
      break;
    case 'plain':
      return plainHtml(escapeHtml(block.text));
  }
  return '<hr>';
}

/** Text as it stands; a line break right after `<pre>` would be lost. */
const plainHtml = (escaped: string): string => `<pre>\n${escaped}</pre>`;

/** As much of a verbatim text as fits into `most` units with its tags; `''` when nothing does. */
export function plainHtmlCut(text: string, most: number): string {
  const room = most - plainHtml('').length;
  let units = 0;
  let end = 0;
  for (const character of text) {
    const next = entities[character]?.length ?? character.length;
    if (units + next > room) break;
    units += next;
    end += character.length;
  }
  return end === 0 ? '' : plainHtml(escapeHtml(text.slice(0, end)));
}

/** The first paragraph of an item needs no tags of its own. */
const itemHtml = (item: readonly Block[]): string =>
  item.map((block, at) => (at === 0 && block.type === 'paragraph' ? inline(block.runs) : blockHtml(block))).join('');

function table(rows: readonly (readonly (readonly Run[])[])[], header: boolean): string {
  const row = (cells: readonly (readonly Run[])[], tag: string): string =>
    `<tr>${cells.map((cell) => `<${tag}>${inline(cell)}</${tag}>`).join('')}</tr>`;
  const body = rows.slice(header ? 1 : 0).map((cells) => row(cells, 'td'));
  const head = header && rows[0] !== undefined ? `<thead>${row(rows[0], 'th')}</thead>` : '';
  return `<table>${head}<tbody>${body.join('')}</tbody></table>`;
}

const inline = (runs: readonly Run[]): string => runs.map(runHtml).join('');

function runHtml({ text, code, strong, emphasis, href }: Run): string {
  let html = escapeHtml(text).replaceAll('\n', '<br>');
  if (code === true) html = `<code>${html}</code>`;
  if (emphasis === true) html = `<em>${html}</em>`;
  if (strong === true) html = `<strong>${html}</strong>`;
  return href === undefined ? html : `<a href="${escapeHtml(href)}" rel="nofollow noopener noreferrer">${html}</a>`;
}
