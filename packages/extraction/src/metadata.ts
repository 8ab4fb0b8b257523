import type { Element, Tree } from './dom.ts';
import { type LinkedData, linkedData } from './metadata.jsonld.ts';
import { dateOf, languageTag } from './metadata.values.ts';
import { collapse, oneLine, safeUrl } from './text.ts';

/** Metadata of a page. */
interface Metadata {
  readonly title: string;
  readonly byline: string;
  readonly description: string;
  readonly canonical: string;
  readonly lang: string;
  readonly publishedAt: string;
  readonly noIndex: boolean;
}

const web = /^https?:$/;

/** Metadata of a page: JSON-LD, then what is made for sharing, then the page's own elements. */
export function metadataOf(
  tree: Tree,
  source: { readonly jsonLd: readonly string[]; readonly rootTag: string; readonly base: string },
  read: { readonly title: string; readonly byline: string },
): Metadata {
  const meta = metasOf(tree.head);
  const data = linkedData(source.jsonLd);
  const first = (...names: string[]): string => names.map((name) => meta.get(name)).find((value) => value) ?? '';
  const find = (test: (element: Element) => boolean): string => textOf(tree.elements.find(test));
  const heading = oneLine(
    find(({ tag }) => tag === 'h1'),
    500,
  );
  const title =
    oneLine(data.headline, 500) ||
    oneLine(first('og:title'), 500) ||
    withoutSite(oneLine(titleElement(tree), 500), first('og:site_name'), [
      ...headingsOf(tree),
      oneLine(read.title, 500),
    ]) ||
    heading;
  const author = first(
    'author',
    'parsely-author',
    'dc.creator',
    'citation_author',
    'sailthru.author',
    'article:author',
  );
  return {
    title,
    byline: bylineOf([data.author, author, find(isAuthor), read.byline]),
    description: oneLine(first('description', 'og:description', 'twitter:description') || data.description, 1000),
    canonical: canonicalOf(tree.head, source.base),
    lang: languageOf(source.rootTag, first('content-language', 'og:locale'), data.language),
    publishedAt: publishedAt(tree, first, data),
    noIndex: ['robots', 'googlebot'].some((name) => /(?:^|,)\s*(?:noindex|none)\s*(?:,|$)/i.test(meta.get(name) ?? '')),
  };
}

const headingsOf = ({ elements }: Tree): string[] =>
  elements
    .filter(({ tag, textLength }) => (tag === 'h1' || tag === 'h2') && textLength <= 500)
    .slice(0, 20)
    .map((element) => oneLine(textOf(element), 500));

/** A title without the site's name behind it: where a heading, Readability or the page says which part that is. */
function withoutSite(title: string, site: string, shorter: readonly string[]): string {
  const separated = /^\s*[|–—·»:/\\-]\s*\S/;
  const own = shorter.find(
    (text) => text.length > 3 && title.startsWith(text) && separated.test(title.slice(text.length)),
  );
  if (own !== undefined) return own;
  if (site === '' || !title.endsWith(site)) return title;
  return title.slice(0, -site.length).replace(/\s*[|–—·»:/\\-]\s*$/, '') || title;
}

/** Contents of `<meta>` by name, property or http-equiv in lower case; the first of each. */
function metasOf(head: readonly Element[]): Map<string, string> {
  const metas = new Map<string, string>();
  for (const { tag, attributes } of head) {
    const content = attributes['content']?.trim();
    if (tag !== 'meta' || content === undefined || content === '') continue;
    for (const key of [attributes['name'], attributes['property'], attributes['http-equiv'], attributes['itemprop']]) {
      const name = key?.trim().toLowerCase();
      if (name !== undefined && !metas.has(name)) metas.set(name, content);
    }
  }
  return metas;
}

/** Text of the first `<title>` that has one. */
export function titleElement({ head }: Tree): string {
  return (
    head
      .filter(({ tag }) => tag === 'title')
      .map(textOf)
      .find((text) => text.trim() !== '') ?? ''
  );
}

const isAuthor = ({ tag, attributes, textLength }: Element): boolean => {
  if (textLength === 0 || textLength > 100) return false;
  if (attributes['itemprop'] === 'author' || (tag === 'a' && /\bauthor\b/.test(attributes['rel'] ?? ''))) return true;
  return /(?:^|\s)(?:byline|author-name|p-author|post-author|article-author)(?:\s|$)/.test(attributes['class'] ?? '');
};

function textOf(element: Element | undefined): string {
  if (element === undefined) return '';
  return element.children.map((child) => (typeof child === 'string' ? child : textOf(child))).join(' ');
}

/** The byline; a URL in its place (Open Graph asks for one) does not count. */
function bylineOf(candidates: readonly string[]): string {
  for (const candidate of candidates) {
    const line = oneLine(candidate, 200).replace(/^(?:by|de|written by|autor:?)\s+/i, '');
    if (line !== '' && !/^https?:/i.test(line)) return line;
  }
  return '';
}

function canonicalOf(head: readonly Element[], base: string): string {
  const link = head.find(
    ({ tag, attributes }) => tag === 'link' && /(?:^|\s)canonical(?:\s|$)/i.test(attributes['rel'] ?? ''),
  );
  const url = safeUrl(link?.attributes['href'] ?? '', base, web);
  return url.length <= 2048 ? url : '';
}

function languageOf(rootTag: string, meta: string, data: string): string {
  const own = /\s(?:xml:)?lang\s*=\s*["']?\s*([\w-]{1,35})/i.exec(rootTag)?.[1];
  return languageTag(own ?? '') || languageTag(meta) || languageTag(data);
}

function publishedAt(tree: Tree, first: (...names: string[]) => string, data: LinkedData): string {
  const time = (test: (element: Element) => boolean): string => {
    const found = tree.elements.find((element) => element.tag === 'time' && test(element));
    return found === undefined ? '' : (found.attributes['datetime'] ?? collapse(textOf(found)));
  };
  const said = [
    data.datePublished,
    first('article:published_time', 'og:article:published_time', 'datepublished', 'parsely-pub-date', 'sailthru.date'),
    first(
      'date',
      'pubdate',
      'publishdate',
      'publish-date',
      'publish_date',
      'dc.date',
      'dc.date.issued',
      'dcterms.date',
    ),
    first('dcterms.created', 'citation_publication_date', 'citation_date'),
    time(({ attributes }) => attributes['itemprop'] === 'datePublished' || attributes['pubdate'] !== undefined),
    data.dateModified,
    first('article:modified_time', 'og:updated_time', 'last-modified', 'dcterms.modified', 'datemodified'),
    time(({ attributes }) => attributes['datetime'] !== undefined),
  ];
  return said.map(dateOf).find((date) => date !== '') ?? '';
}

/** The URL that links are relative to. */
export function baseOf(head: readonly Element[], url: string): string {
  const href = head.find(({ tag, attributes }) => tag === 'base' && attributes['href'] !== undefined)?.attributes[
    'href'
  ];
  return safeUrl(href ?? '', url, web) || url;
}
