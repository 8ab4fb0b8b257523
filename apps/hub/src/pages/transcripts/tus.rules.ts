const kib = 1_024;
/** The server takes at most this in one request. */
const mostPieceBytes = 8 * kib * kib;
/** Pieces of an upload that the server takes are 10,000 at most; some are lost to failures. */
const mostPieces = 9_000;
/** The first piece: small, so that progress is seen at once on a slow line. */
const firstPieceBytes = 256 * kib;
const [quickMs, slowMs] = [1_000, 4_000];

/** Bytes of the next piece: twice as many after a quick one, half as many after a slow one, so that each takes seconds. */
export function nextPieceBytes(fileBytes: number, before?: { bytes: number; tookMs: number }): number {
  const least = Math.max(64 * kib, Math.ceil(fileBytes / mostPieces));
  if (!before) return Math.min(mostPieceBytes, Math.max(least, firstPieceBytes));
  const factor = before.tookMs < quickMs ? 2 : before.tookMs > slowMs ? 0.5 : 1;
  return Math.min(mostPieceBytes, Math.max(least, Math.round(before.bytes * factor)));
}

/** `Upload-Metadata` of a file: pairs of a name and base64 of UTF-8. */
export function tusMetadata(fields: Readonly<Record<string, string>>): string {
  const encoded = (value: string): string =>
    btoa(Array.from(new TextEncoder().encode(value), (byte) => String.fromCharCode(byte)).join(''));
  return Object.entries(fields)
    .map(([name, value]) => `${name} ${encoded(value)}`)
    .join(',');
}

/** A refusal of the API, or that it was not reached (status 0). */
interface Failure {
  status: number;
  code: string;
}

/**
 * What an upload does after a failure: `wait` and ask how far it is, `again` at once, `anew` with another upload since the
 * server has this one no more, or stop, since it is `refused`.
 */
export function afterFailure({ status, code }: Failure): 'wait' | 'again' | 'anew' | 'refused' {
  if (code === 'upload_gone' || code === 'not_found') return 'anew';
  if (code === 'upload_conflict' || code === 'upload_incomplete' || code === 'checksum_mismatch') return 'again';
  if (status === 0 || status >= 500 || code === 'upload_locked') return 'wait';
  if (status === 429 && code !== 'quota_exceeded') return 'wait';
  return 'refused';
}

const longestWaitMs = 30_000;
/** How long to wait before try `tries`, from 1; a network that comes back ends the wait. */
export const waitMsOf = (tries: number): number => Math.min(longestWaitMs, 1_000 * 2 ** Math.min(tries - 1, 10));

/** Bytes at each end of a file by which it is known again. */
const markBytes = 64 * kib;

/**
 * Tells a file from others by its length and its ends. Phones give a file another name or time when it is picked again, so
 * these do not count.
 */
export async function markOf(file: Blob): Promise<string> {
  const ends = new Blob([file.slice(0, markBytes), file.slice(Math.max(0, file.size - markBytes))]);
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', await ends.arrayBuffer()));
  return `${file.size}-${Array.from(hash.subarray(0, 16), (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}
