import { gunzipSync } from 'node:zlib';

/** What a sitemap lists. */
export interface Sitemap {
  readonly kind: 'pages' | 'sitemaps';
  readonly urls: readonly string[];
}

/** The protocol's own bound (sitemaps.org). */
const mostUrls = 50_000;
const mostBytes = 50 * 1024 * 1024;
const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/**
 * Reads a sitemap, an index of sitemaps, or a text file of addresses; gzipped ones too. Only addresses of the same site
 * count, as the protocol says. Undefined: it is none of these.
 */
export function readSitemap(bytes: Buffer, from: string): Sitemap | undefined {
  const text = unpacked(bytes)?.toString('utf8');
  if (text === undefined) return undefined;
  const isIndex = /<sitemapindex[\s>]/.test(text.slice(0, 10_000));
  const isMap = /<urlset[\s>]/.test(text.slice(0, 10_000));
  if (!isIndex && !isMap && !/^\s*https?:\/\//.test(text)) return undefined;
  const found =
    isIndex || isMap ? text.matchAll(/<loc>\s*(?:<!\[CDATA\[)?([^<\]]{1,2048}?)\s*(?:\]\]>)?\s*<\/loc>/g) : lines(text);
  const urls = new Set<string>();
  const { host } = new URL(from);
  for (const match of found) {
    const url = match[1]?.replace(/&(amp|lt|gt|quot|apos);/g, (_, name: string) => entities[name] ?? '') ?? '';
    if (isOfSite(url, host)) urls.add(new URL(url).href);
    if (urls.size >= mostUrls) break;
  }
  return { kind: isIndex ? 'sitemaps' : 'pages', urls: [...urls] };
}

const lines = (text: string) => text.matchAll(/^\s*(https?:\/\/\S{1,2040})\s*$/gm);

const isOfSite = (url: string, host: string): boolean =>
  URL.canParse(url) && /^https?:$/.test(new URL(url).protocol) && new URL(url).host === host;

function unpacked(bytes: Buffer): Buffer | undefined {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  try {
    return gunzipSync(bytes, { maxOutputLength: mostBytes });
  } catch {
    return undefined;
  }
}
