import { ApiError, badRequest } from '../../kernel/base/errors.ts';

/** The version of tus that this server speaks. */
const tusVersion = '1.0.0';
/** On every answer of the feature, refusals among them. */
export const tusHeaders = { 'tus-resumable': tusVersion };
/** The content type of a piece. */
const pieceType = 'application/offset+octet-stream';
const longestMetadata = 4_096;
/** Checksums of a piece, by name: the bytes that each has. */
const checksums = { sha1: 20, sha256: 32 } as const;

/** A checksum that a client gave. */
export interface Checksum {
  readonly algorithm: keyof typeof checksums;
  readonly digest: Buffer;
}

/** Headers of the answer to OPTIONS. */
export const abilities = (maxBytes: number): Record<string, string> => ({
  'tus-version': tusVersion,
  'tus-extension': 'creation,creation-with-upload,termination,expiration,checksum',
  'tus-max-size': String(maxBytes),
  'tus-checksum-algorithm': Object.keys(checksums).join(','),
});

/** Throws 412 unless the client speaks our version. */
export function checkVersion(given: string | undefined): void {
  if (given === tusVersion) return;
  throw new ApiError('tus_version', `send Tus-Resumable: ${tusVersion}`, { headers: { 'tus-version': tusVersion } });
}

/** Throws 415 unless the body says that it is a piece. */
export function checkPieceType(given: string): void {
  if (given.split(';', 1)[0]?.trim().toLowerCase() === pieceType) return;
  throw new ApiError('content_type', `send the piece as Content-Type: ${pieceType}`);
}

/** A whole number of a header, past 2^53 not exact, which is past every limit; throws 400. */
export function countOf(name: string, given: string | undefined): number {
  const count = /^\d+$/.test(given ?? '') ? Number(given) : undefined;
  if (count === undefined) throw faulty(name, 'must be a whole number of bytes');
  return count;
}

/** 400 for a header. */
const faulty = (name: string, message: string): ApiError =>
  badRequest(`${name}: ${message}`, { [name.toLowerCase()]: [message] });

/** `Upload-Length`; throws 400 without one, 413 for more than an upload may have. */
export function lengthOf(given: string | undefined, deferred: string | undefined, maxBytes: number): number {
  if (deferred !== undefined || given === undefined) {
    throw faulty('Upload-Length', 'is required; a length that is told later is not supported');
  }
  const length = countOf('Upload-Length', given);
  if (length <= maxBytes) return length;
  const message = `an upload has at most ${maxBytes} bytes; as FLAC or Opus a recording is a tenth of its size`;
  throw new ApiError('payload_too_large', message);
}

/** Throws 400 for an upload in parallel parts: a client that was let begin would hear of it when it joins them at its end. */
export function checkNoConcat(given: unknown): void {
  if (given !== undefined) throw faulty('Upload-Concat', 'is not supported; send the file as one upload');
}

/**
 * The pairs of `Upload-Metadata`. Throws 400 for more than 4 KiB, a name twice, what is not base64, and values that are
 * not UTF-8.
 */
export function metadataOf(given: string | undefined): Record<string, string> {
  const refuse = (message: string): ApiError => faulty('Upload-Metadata', message);
  if ((given?.length ?? 0) > longestMetadata) throw refuse('has over 4 KiB');
  const pairs = new Map<string, string>();
  for (const pair of (given ?? '').split(',')) {
    const [name = '', value = '', ...more] = pair.trim().split(/ +/);
    if (name === '' && given?.trim() === '') break;
    if (given === undefined) break;
    if (!/^[\x21-\x2b\x2d-\x7e]{1,100}$/.test(name) || more.length > 0) throw refuse('must be pairs `name base64`');
    // JSON cannot carry it as a field.
    if (name === '__proto__') throw refuse('must not name __proto__');
    if (pairs.has(name)) throw refuse(`names ${name} twice`);
    const bytes = fromBase64(value);
    const text = bytes && decoded(bytes);
    if (text === undefined) throw refuse(`the value of ${name} must be base64 of UTF-8`);
    pairs.set(name, text);
  }
  return Object.fromEntries(pairs);
}

function decoded(bytes: Buffer): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return text.includes('\u0000') ? undefined : text;
  } catch {
    return undefined;
  }
}

/** Bytes of strict base64; undefined for anything else. */
function fromBase64(value: string): Buffer | undefined {
  const bytes = Buffer.from(value, 'base64');
  return bytes.toString('base64').replace(/=+$/, '') === value.replace(/=+$/, '') ? bytes : undefined;
}

/** `Upload-Checksum`; throws 400 for an unknown kind, or a digest of another length. */
export function checksumOf(given: string | undefined): Checksum | undefined {
  if (given === undefined) return undefined;
  const [name = '', value = ''] = given.trim().split(/ +/);
  const algorithm = name.toLowerCase();
  const known = `must be one of ${Object.keys(checksums).join(', ')}, and the digest in base64`;
  if (!isKnown(algorithm)) throw faulty('Upload-Checksum', known);
  const digest = fromBase64(value);
  if (digest?.length !== checksums[algorithm]) throw faulty('Upload-Checksum', known);
  return { algorithm, digest };
}

const isKnown = (name: string): name is keyof typeof checksums => Object.hasOwn(checksums, name);

/** The SHA-256 of `Repr-Digest` (RFC 9530); digests of other kinds are ignored. Throws 400 for one that is malformed. */
export function reprDigestOf(given: string | undefined): Buffer | undefined {
  for (const member of (given ?? '').split(',')) {
    const [, value] = /^\s*sha-256\s*=(.*)$/i.exec(member) ?? [];
    if (value === undefined) continue;
    const [, encoded = ''] = /^\s*:([^:]*):\s*$/.exec(value) ?? [];
    const digest = fromBase64(encoded);
    if (digest?.length !== 32) throw faulty('Repr-Digest', 'must be sha-256=:<base64>:');
    return digest;
  }
  return undefined;
}

/** The same as a header of an answer. */
export const reprDigest = (sha256: Buffer): string => `sha-256=:${sha256.toString('base64')}:`;
