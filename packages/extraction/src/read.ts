import { type Article, articleOf } from './article.ts';
import { type Block, mostUnits, type Page } from './blocks.ts';
import { type Tree, treeOf } from './dom.ts';
import { contentOf } from './fallback.ts';
import { type Feed, feedBlocks, jsonFeed, xmlFeed } from './feeds.ts';
import { type Sniffed, sniff } from './kinds.ts';
import { baseOf, metadataOf, titleElement } from './metadata.ts';
import { readPdf } from './pdf.ts';
import { cut, oneLine, safeUrl } from './text.ts';
import { tidy } from './tidy.ts';
import { visibleOf, visibleText } from './visible.ts';

const mostHtml = 3 * 1024 * 1024;
const nothing = {
  title: '',
  byline: '',
  description: '',
  canonical: '',
  lang: '',
  publishedAt: '',
  noIndex: false,
  outline: [],
  needsScript: false,
  refresh: '',
} as const;

/**
 * Reads a document (design: tools.md, Fetch). `from` is where it came from: its URL after redirects, and its
 * Content-Type header. Throws `ExtractionError`: `unsupported` for a media type without text, `unreadable` for a broken
 * PDF.
 */
export async function readPage(bytes: Uint8Array, from: { url: string; contentType: string }): Promise<Page> {
  const sniffed = sniff(bytes, from.contentType);
  const { kind, contentType, text } = sniffed;
  if (kind === 'pdf') return pdfPage(bytes, contentType);
  if (kind === 'html') return htmlPage(sniffed, from.url);
  if (kind === 'feed') return feedPage(sniffed, from.url);
  const content = cut(text, mostUnits);
  return { ...nothing, kind, contentType, blocks: plain([content]), visible: content };
}

const plain = (texts: readonly string[]): Block[] =>
  texts.filter((text) => text.trim() !== '').map((text) => ({ type: 'plain', text }));

function htmlPage({ contentType, text }: Sniffed, url: string): Page {
  const tidied = tidy(text.slice(0, mostHtml));
  const tree = treeOf(tidied);
  const base = baseOf(tree.head, url);
  const { text: visible, outline } = visibleOf(tree.root);
  // For Readability, which strips the site's name from it.
  tree.document.title = oneLine(titleElement(tree), 500);
  const article: Article = articleOf(tree, base);
  const metadata = metadataOf(tree, { jsonLd: tidied.jsonLd, rootTag: tidied.rootTag, base }, article);
  const readHtml = (html: string): string => visibleText(treeOf(tidy(html.slice(0, mostHtml))).root);
  const { blocks, needsScript } = contentOf(article.blocks, tidied, readHtml);
  const refresh = refreshOf(tree, base, url);
  return { ...metadata, kind: 'html', contentType, blocks, visible, outline, needsScript, refresh };
}

/** Where a page sends its reader at once; empty: nowhere else. */
function refreshOf({ head }: Tree, base: string, own: string): string {
  for (const { tag, attributes } of head) {
    if (tag !== 'meta' || attributes['http-equiv']?.toLowerCase() !== 'refresh') continue;
    const [, to = ''] =
      /^\s*0*(?:\.0*)?\s*[;,]\s*url\s*=\s*["']?([^"']{1,4096})/i.exec(attributes['content'] ?? '') ?? [];
    const target = safeUrl(to, base, /^https?:$/);
    if (target !== '' && target.split('#')[0] !== own.split('#')[0]) return target;
  }
  return '';
}

function feedPage({ contentType, text }: Sniffed, url: string): Page {
  const feed: Feed = contentType.endsWith('json') ? jsonFeed(text, url) : xmlFeed(text, url);
  const { title, byline, description, link, lang, publishedAt } = feed;
  const blocks = feedBlocks(feed);
  const lines = blocks.flatMap((block) => ('runs' in block ? [block.runs.map((run) => run.text).join('')] : []));
  return {
    ...nothing,
    kind: 'feed',
    contentType,
    title,
    byline,
    description,
    lang,
    publishedAt,
    canonical: link.length <= 2048 ? link : '',
    blocks,
    visible: cut(lines.join('\n'), mostUnits),
  };
}

async function pdfPage(bytes: Uint8Array, contentType: string): Promise<Page> {
  const { title, author, subject, lang, date, pages } = await readPdf(bytes);
  return {
    ...nothing,
    kind: 'pdf',
    contentType,
    title: oneLine(title, 500),
    byline: oneLine(author, 200),
    description: oneLine(subject, 1000),
    lang,
    publishedAt: date,
    blocks: plain(pages),
    visible: cut(pages.filter((page) => page !== '').join('\n'), mostUnits),
  };
}
