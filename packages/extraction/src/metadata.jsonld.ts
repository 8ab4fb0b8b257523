import { resolveEntities } from './text.ts';

/** The used part of a page's JSON-LD; `''` for a missing value. */
export interface LinkedData {
  headline: string;
  author: string;
  description: string;
  datePublished: string;
  dateModified: string;
  language: string;
}

const articleType =
  /(?:Article|Posting|Report|WebPage|Recipe|Question|Dataset|Book|Movie|Review|Product|Event|Course|HowTo|Thesis|CreativeWork|Manuscript|Legislation)$/;
const mostNodes = 500;

type Json = Readonly<Record<string, unknown>>;
const isRecord = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
/** Many write HTML's entities here, where they mean nothing. */
const textOf = (value: unknown): string => (typeof value === 'string' ? resolveEntities(value.slice(0, 10_000)) : '');
const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value.slice(0, 50) : [value]);

/** Reads JSON-LD scripts; what is broken is passed over. An article's words win over those of the page around it. */
export function linkedData(scripts: readonly string[]): LinkedData {
  const data: LinkedData = {
    headline: '',
    author: '',
    description: '',
    datePublished: '',
    dateModified: '',
    language: '',
  };
  const nodes = scripts.flatMap(nodesOf).slice(0, mostNodes);
  const isPage = (node: Json): boolean => typesOf(node).some((type) => type.endsWith('WebPage'));
  // Of a list of questions none is the page's title.
  const isAsked = nodes.filter((node) => typesOf(node).includes('Question')).length > 1;
  for (const node of [...nodes.filter((node) => !isPage(node)), ...nodes.filter(isPage)]) {
    const types = typesOf(node);
    if (!types.some((type) => articleType.test(type)) || (isAsked && types.includes('Question'))) continue;
    // The name of a product or page is its title only where nothing has a headline.
    data.headline ||= textOf(node['headline']) || (isPage(node) ? '' : textOf(node['name']));
    data.author ||= authorOf(node['author'] ?? node['creator']);
    data.description ||= textOf(node['description']);
    data.datePublished ||= textOf(node['datePublished']);
    data.dateModified ||= textOf(node['dateModified']);
    data.language ||= textOf(node['inLanguage']);
  }
  return data;
}

/** The longest text of an article that JSON-LD holds; empty when it holds none. */
export function linkedBody(scripts: readonly string[]): string {
  let longest = '';
  for (const node of scripts.flatMap(nodesOf).slice(0, mostNodes)) {
    for (const value of [node['articleBody'], node['reviewBody'], node['text']])
      if (typeof value === 'string' && value.length > longest.length) longest = value;
  }
  return resolveEntities(longest.slice(0, 1_000_000));
}

const typesOf = (node: Json): string[] => asList(node['@type']).map(textOf);

function nodesOf(script: string): Json[] {
  const text = script
    .replace(/^\s*(?:<!--|\/\*.*?\*\/|<!\[CDATA\[)?/, '')
    .trimEnd()
    .replace(/(?:-->|\]\]>)$/, '');
  try {
    return flatten(JSON.parse(text));
  } catch {
    return [];
  }
}

/** Nodes at the top, in `@graph`, and what a page says it is about. */
function flatten(top: unknown): Json[] {
  const found: Json[] = [];
  let level: unknown[] = [top];
  for (let depth = 0; depth < 4 && level.length > 0; depth += 1) {
    const next: unknown[] = [];
    for (const value of level.flatMap(asList)) {
      if (!isRecord(value) || found.length >= mostNodes) continue;
      found.push(value);
      next.push(...asList(value['@graph']), ...asList(value['mainEntity']));
    }
    level = next;
  }
  return found;
}

/** Names of authors, in one line. */
function authorOf(value: unknown): string {
  const names = asList(value).map((author) => (isRecord(author) ? textOf(author['name']) : textOf(author)));
  return names
    .filter((name) => name !== '')
    .slice(0, 10)
    .join(', ');
}
