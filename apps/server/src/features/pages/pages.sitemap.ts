import { gunzipSync } from 'node:zlib';

/** The contents of a sitemap. */
interface Sitemap {
  readonly kind: 'pages' | 'sitemaps';
  readonly urls: readonly string[];
  /** Further hosts that it names, which are left out: how many addresses of each, of 20 of them. */
  readonly others: ReadonlyMap<string, number>;
}

/** The protocol's own bound (sitemaps.org). */
const mostUrls = 50_000;
const mostBytes = 20 * 1024 * 1024;
const longestUrl = 2_048;
const mostOthers = 20;
const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/**
 * Reads a sitemap, an index of sitemaps, or a text file of addresses; gzipped ones too. Only addresses of the same site count, as
 * the protocol says, and of `alsoHosts`. Undefined for any other file.
 */
export function readSitemap(bytes: Buffer, from: string, alsoHosts: readonly string[] = []): Sitemap | undefined {
  const text = unpacked(bytes)?.toString('utf8');
  if (text === undefined) return undefined;
  const isIndex = /<sitemapindex[\s>]/.test(text.slice(0, 10_000));
  const isMap = /<urlset[\s>]/.test(text.slice(0, 10_000));
  if (!isIndex && !isMap && !/^\s*https?:\/\//.test(text)) return undefined;
  const { host } = new URL(from);
  const hosts = new Set([host, ...alsoHosts]);
  const urls = new Set<string>();
  const others = new Map<string, number>();
  for (const found of isIndex || isMap ? locationsOf(text) : linesOf(text)) {
    const url = URL.parse(found.replace(/&(amp|lt|gt|quot|apos);/g, (_, name: string) => entities[name] ?? ''));
    if (!url || !/^https?:$/.test(url.protocol)) continue;
    if (hosts.has(url.host)) urls.add(url.href);
    else if (others.has(url.host) || others.size < mostOthers) others.set(url.host, (others.get(url.host) ?? 0) + 1);
    if (urls.size >= mostUrls) break;
  }
  return { kind: isIndex ? 'sitemaps' : 'pages', urls: [...urls], others };
}

/** The content of each `<loc>`. Parsed by hand: a page of white space could keep a regular expression busy. */
function* locationsOf(text: string): Generator<string> {
  for (let at = text.indexOf('<loc>'); at !== -1; at = text.indexOf('<loc>', at + 1)) {
    const end = text.indexOf('</loc>', at);
    if (end === -1) return;
    if (end - at > 2 * longestUrl) continue;
    const inner = text.slice(at + '<loc>'.length, end).trim();
    const plain = inner.startsWith('<![CDATA[') && inner.endsWith(']]>') ? inner.slice(9, -3).trim() : inner;
    if (plain.length <= longestUrl) yield plain;
  }
}

function* linesOf(text: string): Generator<string> {
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf('\n', at);
    const past = end === -1 ? text.length : end;
    if (past - at <= longestUrl) yield text.slice(at, past).trim();
    at = past + 1;
  }
}

function unpacked(bytes: Buffer): Buffer | undefined {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  try {
    return gunzipSync(bytes, { maxOutputLength: mostBytes });
  } catch {
    return undefined;
  }
}
