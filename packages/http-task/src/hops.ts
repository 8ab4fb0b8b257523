import type { Readable, Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';

/** One request: what redirects may change. */
export interface Hop {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer | undefined;
}

const redirectStatus = new Set([301, 302, 303, 307, 308]);
const ofTheConnection =
  /^(?:host|connection|content-length|transfer-encoding|keep-alive|upgrade|te|trailer|expect|proxy-.*)$/i;
/** Headers that hold no secret: another origin may get them, and an answer may hold their values by chance. */
const plainHeaders = /^(?:accept|accept-encoding|accept-language|content-type|user-agent)$/i;

/** Whether a header holds no value of the caller's own. */
export const isPlainHeader = (name: string): boolean => plainHeaders.test(name);

/** Headers as they are sent: without those of the connection, which the transport makes, and with what svc says of itself. */
export function requestHeaders(given: Readonly<Record<string, string>>): Record<string, string> {
  const kept = Object.entries(given).filter(([name]) => !ofTheConnection.test(name));
  const names = new Set(kept.map(([name]) => name.toLowerCase()));
  return {
    ...Object.fromEntries(kept),
    ...(!names.has('accept-encoding') && { 'accept-encoding': 'gzip, deflate, br' }),
    ...(!names.has('user-agent') && { 'user-agent': 'svc' }),
  };
}

/**
 * The next hop; undefined for what is no redirect, or one that says nowhere. Headers of the caller's own do not follow to another
 * origin.
 */
export function redirected(hop: Hop, status: number, location: string | string[] | undefined): Hop | undefined {
  if (!redirectStatus.has(status) || typeof location !== 'string') return undefined;
  const place = asUtf8(location);
  // `URL.parse` is not there under Node.js 20, which hosts may have.
  if (!URL.canParse(place, hop.url)) return undefined;
  const url = new URL(place, hop.url);
  const asGet = hop.method !== 'HEAD' && (status === 303 || (status < 303 && hop.method === 'POST'));
  const sameOrigin = url.origin === new URL(hop.url).origin;
  const headers = Object.entries(hop.headers).filter(
    ([name]) => (sameOrigin || isPlainHeader(name)) && !(asGet && /^content-/i.test(name)),
  );
  return {
    url: url.href,
    method: asGet ? 'GET' : hop.method,
    headers: Object.fromEntries(headers),
    body: asGet ? undefined : hop.body,
  };
}

/** A header comes one character a byte; many servers write UTF-8 into it, and browsers read it so. */
function asUtf8(header: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(header, 'latin1'));
  } catch {
    return header;
  }
}

/** The head of an answer, as far as its body is read by it. */
interface AnswerHead {
  status: number;
  headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** The body of an answer without its encoding: one layer; more of them, or an unknown one, throws. */
export function decodedBody(method: string, { status, headers }: AnswerHead, body: Readable): Readable {
  const isEmpty = method === 'HEAD' || status === 204 || status === 304 || headers['content-length'] === '0';
  const name = String((isEmpty ? undefined : headers['content-encoding']) ?? '')
    .trim()
    .toLowerCase();
  if (name === '' || name === 'identity') return body;
  const decoder = decoderOf(name);
  body.on('error', (error) => decoder.destroy(error));
  decoder.on('close', () => body.destroy());
  return body.pipe(decoder);
}

function decoderOf(encoding: string): Transform {
  if (encoding === 'gzip' || encoding === 'x-gzip') return createGunzip();
  if (encoding === 'deflate') return createInflate();
  if (encoding === 'br') return createBrotliDecompress();
  throw new Error('content encoding');
}

/** The beginning of a body. */
export interface KeptBody {
  body: Buffer;
  /** It went on. */
  truncated: boolean;
}

/** Reads `most` bytes of a body; `take` gets them as they come, and the body is empty then. */
export async function readBody(
  body: Readable,
  most: number,
  take?: (chunk: Buffer) => Promise<void>,
): Promise<KeptBody> {
  // A body that is cut short says so once more when its connection ends.
  body.on('error', () => {});
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (take && length <= most) await take(chunk);
    else if (!take) chunks.push(chunk);
    if (length > most) break;
  }
  return { body: Buffer.concat(chunks).subarray(0, most), truncated: length > most };
}
