import { ExtractionError, type PageKind } from './blocks.ts';
import { decode, isUtf16 } from './charset.ts';

/** Kind of a document. */
export interface Sniffed {
  readonly kind: PageKind;
  readonly contentType: string;
  /** Decoded; `''` for a PDF. */
  readonly text: string;
}

const textTypes = /^text\/|^application\/(?:javascript|ecmascript|x-javascript|yaml|x-yaml|toml|sql|x-sh|x-ndjson)$/;
const jsonType = /^application\/json$|\+json$|^text\/json$/;
const xmlType = /^(?:application|text)\/xml$|\+xml$/;
const htmlType = /^text\/html$|^application\/xhtml\+xml$/;
/** Headers that say nothing about the bytes. */
const vague =
  /^$|^application\/(?:octet-stream|unknown|binary|x-unknown|force-download|x-download)$|^binary\/|^\*\/\*$/;
const feedRoot = /^(?:\s|<\?[^>]*>|<!--(?:(?!-->)[\s\S]){0,2000}-->|<!doctype[^>]*>)*<(?:rss|feed|rdf:RDF)[\s>]/i;
const htmlStart =
  /^(?:\s|<!--(?:(?!-->)[\s\S]){0,2000}-->)*<(?:!doctype\s+html|html|head|body|title|script|h1|div|table|p|meta)[\s>]/i;

/** Bytes of a PDF may follow up to 1,024 others. */
function hasPdfMagic(bytes: Uint8Array): boolean {
  const head = new TextDecoder('latin1').decode(bytes.subarray(0, 1024));
  const at = head.indexOf('%PDF-');
  return at === 0 || (at > 0 && !/<html|<!doctype/i.test(head));
}

const magics: readonly (readonly number[])[] = [
  [0x89, 0x50, 0x4e, 0x47],
  [0xff, 0xd8, 0xff],
  [0x47, 0x49, 0x46, 0x38],
  [0x50, 0x4b, 0x03, 0x04],
  [0x1f, 0x8b],
  [0x52, 0x61, 0x72, 0x21],
  [0x7f, 0x45, 0x4c, 0x46],
  [0x49, 0x44, 0x33],
  [0x4f, 0x67, 0x67, 0x53],
  [0x52, 0x49, 0x46, 0x46],
  [0x00, 0x61, 0x73, 0x6d],
  [0xd0, 0xcf, 0x11, 0xe0],
];

/** Text has no zeros, and hardly any control characters. */
function isBinary(bytes: Uint8Array): boolean {
  if (magics.some((magic) => magic.every((byte, at) => bytes[at] === byte))) return true;
  if (isUtf16(bytes)) return false;
  const head = bytes.subarray(0, 8192);
  let odd = 0;
  for (const byte of head) if (byte < 9 || (byte > 13 && byte < 32 && byte !== 27)) odd += 1;
  return odd * 10 > head.length || (odd > 8 && odd * 100 > head.length);
}

/** Media type and charset of a Content-Type header. */
function headerOf(contentType: string): { type: string; charset: string | undefined } {
  const header = contentType.slice(0, 500);
  const type = (header.split(/[;,]/, 1)[0] ?? '').trim().toLowerCase();
  const charset = /;\s*charset\s*=\s*["']?\s*([^\s"';,]{1,40})/i.exec(header)?.[1];
  return { type: /^[\w.+*-]+\/[\w.+*-]+$/.test(type) ? type : '', charset };
}

const isJson = (text: string): boolean => {
  if (!/^\s*[[{]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

/** A JSON Feed says so in its first member. */
const isJsonFeed = (text: string): boolean =>
  /"version"\s*:\s*"https?:\/\/jsonfeed\.org\/version\//.test(text.slice(0, 4096));

function xml(text: string, type: string): Omit<Sniffed, 'text'> {
  if (feedRoot.test(text.slice(0, 8192))) return { kind: 'feed', contentType: feedType(text, type) };
  return { kind: 'xml', contentType: xmlType.test(type) ? type : 'application/xml' };
}

function feedType(text: string, type: string): string {
  if (/^application\/(?:rss|atom|rdf)\+xml$/.test(type)) return type;
  const root = /<(rss|feed|rdf:RDF)[\s>]/i.exec(text.slice(0, 8192))?.[1]?.toLowerCase();
  if (root === 'feed') return 'application/atom+xml';
  return root === 'rss' ? 'application/rss+xml' : 'application/rdf+xml';
}

function json(text: string, type: string): Omit<Sniffed, 'text'> {
  if (isJsonFeed(text)) return { kind: 'feed', contentType: 'application/feed+json' };
  return { kind: 'json', contentType: jsonType.test(type) ? type : 'application/json' };
}

/** By the text's first characters, for a header that says nothing. */
function bySight(text: string): Omit<Sniffed, 'text'> {
  const head = text.slice(0, 8192);
  if (htmlStart.test(head)) return { kind: 'html', contentType: 'text/html' };
  if (/^\s*<\?xml[\s?]/.test(head)) return startsHtml(head) ? asHtml('application/xhtml+xml') : xml(text, '');
  if (feedRoot.test(head)) return xml(text, '');
  if (isJson(text)) return json(text, '');
  return { kind: 'text', contentType: 'text/plain' };
}

/** XHTML behind its XML declaration. */
const startsHtml = (head: string): boolean =>
  /^\s*<\?xml[^>]*>(?:\s|<!--(?:(?!-->)[\s\S]){0,2000}-->)*<(?:!doctype\s+html|html)[\s>]/i.test(head);
const asHtml = (contentType: string): Omit<Sniffed, 'text'> => ({ kind: 'html', contentType });

function byHeader(text: string, type: string): Omit<Sniffed, 'text'> {
  const head = text.slice(0, 8192);
  if (htmlType.test(type)) {
    // A feed or JSON is often served as HTML; browsers sniff the former.
    if (feedRoot.test(head)) return xml(text, '');
    return !/<[a-z!]/i.test(head) && isJson(text) ? json(text, '') : asHtml(type);
  }
  if (jsonType.test(type)) return htmlStart.test(head) ? asHtml('text/html') : json(text, type);
  if (xmlType.test(type)) return htmlStart.test(head) || startsHtml(head) ? asHtml('text/html') : xml(text, type);
  // As in browsers: text/plain stays text, whatever it looks like.
  return { kind: 'text', contentType: type };
}

/**
 * The kind of bytes: magic numbers first, then the header, then the text's look if the header says nothing. Throws
 * `ExtractionError` `unsupported` for everything without text.
 */
export function sniff(bytes: Uint8Array, contentType: string): Sniffed {
  const { type, charset } = headerOf(contentType);
  if (hasPdfMagic(bytes)) return { kind: 'pdf', contentType: 'application/pdf', text: '' };
  if (type === 'application/pdf' || type === 'application/x-pdf') {
    // An error page behind a PDF's header is read as what it is.
    if (isBinary(bytes)) throw new ExtractionError('unreadable', 'The document is no PDF.');
    const text = decode(bytes, charset);
    if (!htmlStart.test(text.slice(0, 8192))) throw new ExtractionError('unreadable', 'The document is no PDF.');
    return { kind: 'html', contentType: 'text/html', text };
  }
  if (type === 'image/svg+xml' || isBinary(bytes)) throw unsupported();
  const text = decode(bytes, charset);
  if (textTypes.test(type) || jsonType.test(type) || xmlType.test(type)) return { ...byHeader(text, type), text };
  const seen = bySight(text);
  if (!vague.test(type) && seen.kind === 'text') throw unsupported();
  return { ...seen, text };
}

const unsupported = (): ExtractionError =>
  new ExtractionError('unsupported', 'The document is of a type without text.');
