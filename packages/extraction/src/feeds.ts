import type { Block, Run } from './blocks.ts';
import { treeOf } from './dom.ts';
import { dateOf, languageTag } from './metadata.values.ts';
import { cut, oneLine, resolveEntities, safeUrl } from './text.ts';
import { tidy } from './tidy.ts';
import { visibleText } from './visible.ts';

/** Content of a feed. */
export interface Feed {
  readonly title: string;
  readonly byline: string;
  readonly description: string;
  readonly link: string;
  readonly lang: string;
  readonly publishedAt: string;
  readonly entries: readonly Entry[];
}

interface Entry {
  readonly title: string;
  readonly link: string;
  readonly date: string;
  readonly summary: string;
}

const mostEntries = 500;
const mostSummary = 10_000;

/** An RSS, RDF or Atom feed; what is broken is read as far as it goes. */
export function xmlFeed(text: string, url: string): Feed {
  const items = itemsOf(text);
  const firstItem = items[0]?.start ?? text.length;
  const last = items.at(-1);
  // RDF has its items beside the channel, Atom's head may go on behind the entries.
  const head =
    text.slice(0, Math.min(firstItem, 100_000)) + (last === undefined ? '' : text.slice(last.end).slice(0, 2000));
  const entries = items.map(({ start, end }) => entryOf(text.slice(start, end), url));
  const authors = /<author[\s>][\s\S]{0,2000}?<name>([^<]{0,200})/i.exec(head)?.[1] ?? '';
  return {
    title: oneLine(plainText(element(head, 'title')), 500),
    byline: oneLine(plainText(authors), 200),
    description: oneLine(plainText(element(head, 'description') || element(head, 'subtitle')), 1000),
    link: linkOf(head, url),
    lang: languageTag(element(head, 'language') || (/\sxml:lang="([\w-]{1,35})"/.exec(head)?.[1] ?? '')),
    publishedAt:
      dateOf(element(head, 'updated') || element(head, 'pubDate') || element(head, 'lastBuildDate')) ||
      dateOf(element(head, 'dc:date')) ||
      newest(entries),
    entries,
  };
}

/** A JSON Feed. */
export function jsonFeed(text: string, url: string): Feed {
  const feed = record(parse(text));
  const items = Array.isArray(feed['items']) ? feed['items'].slice(0, mostEntries).map(record) : [];
  const entries = items.map((item) => ({
    title: oneLine(word(item['title']), 500),
    link: safeUrl(word(item['url']), url, web),
    date: dateOf(word(item['date_published']) || word(item['date_modified'])),
    summary:
      cut(word(item['content_text']), mostSummary) || htmlText(word(item['content_html'])) || word(item['summary']),
  }));
  const authors = Array.isArray(feed['authors']) ? feed['authors'] : [feed['author']];
  return {
    title: oneLine(word(feed['title']), 500),
    byline: oneLine(word(record(authors[0])['name']), 200),
    description: oneLine(word(feed['description']), 1000),
    link: safeUrl(word(feed['home_page_url']), url, web),
    lang: languageTag(word(feed['language'])),
    publishedAt: newest(entries),
    entries,
  };
}

/** A feed as blocks: its title, and each entry's title, date and summary. */
export function feedBlocks({ title, description, entries }: Feed): Block[] {
  const paragraph = (runs: readonly Run[]): Block[] => {
    const full = runs.filter(({ text }) => text !== '');
    return full.length === 0 ? [] : [{ type: 'paragraph', runs: full }];
  };
  const head: Block[] = title === '' ? [] : [{ type: 'heading', level: 1, runs: [{ text: title }] }];
  const body = entries.flatMap(({ title, link, date, summary }): Block[] => {
    const name = title || link;
    const run: Run = link === '' ? { text: name } : { text: name, href: link };
    return [
      ...(name === '' ? [] : [{ type: 'heading' as const, level: 2, runs: [run] }]),
      ...paragraph([{ text: date, emphasis: true }]),
      ...summary.split('\n').flatMap((line) => paragraph([{ text: line.trim() }])),
    ];
  });
  return [...head, ...paragraph([{ text: description }]), ...body];
}

const web = /^https?:$/;
const newest = (entries: readonly Entry[]): string =>
  entries.reduce((latest, { date }) => (date > latest ? date : latest), '');

/** Places of `<item>` and `<entry>`; one that is not closed ends where the next begins. */
function itemsOf(text: string): { start: number; end: number }[] {
  const starts: number[] = [];
  for (const found of text.matchAll(/<(?:item|entry)[\s>]/gi)) {
    starts.push(found.index);
    if (starts.length > mostEntries) break;
  }
  return starts.slice(0, mostEntries).map((start, at) => {
    const next = starts[at + 1] ?? text.length;
    const part = text.slice(start, Math.min(next, start + 200_000));
    const close = part.search(/<\/(?:item|entry)\s*>/i);
    return { start, end: close === -1 ? start + part.length : start + close };
  });
}

function entryOf(part: string, url: string): Entry {
  const said = element(part, 'description') || element(part, 'summary') || element(part, 'content:encoded');
  return {
    title: oneLine(plainText(element(part, 'title')), 500),
    link: linkOf(part, url),
    date: ['pubDate', 'published', 'updated', 'dc:date'].map((name) => dateOf(element(part, name))).find(Boolean) ?? '',
    summary: plainText(said || element(part, 'content')),
  };
}

/** Content of the first element of a name, its CDATA or entities resolved; `''` when it is missing. */
function element(part: string, name: string): string {
  const open = new RegExp(`<${name}(?:\\s[^>]{0,300})?>`, 'i').exec(part);
  if (open === null) return '';
  const start = open.index + open[0].length;
  const end = part.indexOf(`</${name}`, start);
  const content = part.slice(start, end === -1 ? start : end).trim();
  const data = /^<!\[CDATA\[([\s\S]*?)(?:\]\]>|$)/.exec(content)?.[1];
  return data ?? (content.includes('<') ? content : resolveEntities(content));
}

/** RSS has the URL between its tags, Atom in an attribute, of the link without `rel` or with `alternate`. */
function linkOf(part: string, url: string): string {
  for (const [tag] of part.slice(0, 20_000).matchAll(/<(?:atom:)?link\s[^>]{0,300}>/gi)) {
    const rel = /\srel\s*=\s*["']([^"']*)/i.exec(tag)?.[1] ?? 'alternate';
    const href = /\shref\s*=\s*["']([^"']*)/i.exec(tag)?.[1];
    if (rel === 'alternate' && href !== undefined) return safeUrl(resolveEntities(href), url, web);
  }
  return safeUrl(element(part, 'link'), url, web);
}

/** Text of a title or summary, which may be HTML. */
const plainText = (text: string): string => (/[<&]/.test(text) ? htmlText(text) : cut(text.trim(), mostSummary));
const htmlText = (html: string): string => {
  if (html === '') return '';
  return cut(visibleText(treeOf(tidy(html.slice(0, 100_000))).root), mostSummary);
};

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
const record = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
const word = (value: unknown): string => (typeof value === 'string' ? value : '');
