import { createHash, type Hash } from 'node:crypto';
import { Readable } from 'node:stream';
import { ApiError, badRequest } from '../../kernel/base/errors.ts';
import type { Checksum } from './uploads.tus.ts';

/** What a body must be. */
interface Wanted {
  /** Bytes that the upload still lacks. */
  readonly most: number;
  readonly checksum: Checksum | undefined;
  /** Nothing is kept of a body that is cut. */
  readonly isWhole: boolean;
  /** Takes every byte, to know the digest of the whole. */
  readonly whole: Hash | undefined;
  /** Ends when a newer request writes. */
  readonly replaced: AbortSignal;
}

/** 409: another request writes, or the upload stands elsewhere. */
export const conflict = (message: string, at?: number): ApiError =>
  new ApiError('upload_conflict', message, at === undefined ? {} : { headers: { 'upload-offset': String(at) } });

/** 409: what comes with the older of two requests is not taken. */
export const replacedError = (): ApiError =>
  conflict('a newer request writes to this upload; ask for its offset if you still send');

/**
 * The bytes of a request's body, checked as they pass: a body that is cut ends where it was cut, unless it
 * has a checksum or must be whole.
 * Fails with 400 for more bytes than the upload lacks, 409 when it is replaced, 460 for another checksum, 413 past 8 MiB.
 */
export function pieceOf(body: Readable, { most, checksum, isWhole, whole, replaced }: Wanted): Readable {
  const hash = checksum && createHash(checksum.algorithm);
  const onReplaced = (): void => void body.destroy(replacedError());
  if (replaced.aborted) onReplaced();
  replaced.addEventListener('abort', onReplaced, { once: true });
  async function* checked(): AsyncGenerator<Buffer> {
    let bytes = 0;
    try {
      for await (const chunk of body as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        if (bytes > most) throw tooLong();
        hash?.update(chunk);
        whole?.update(chunk);
        yield chunk;
      }
    } catch (error) {
      if (isWhole || hash || !isCut(error)) throw error;
    } finally {
      replaced.removeEventListener('abort', onReplaced);
    }
    if (checksum && hash && !hash.digest().equals(checksum.digest)) throw mismatch();
  }
  return Readable.from(checked(), { objectMode: false });
}

/** 460: nothing of the piece is kept. */
export const mismatch = (): ApiError =>
  new ApiError('checksum_mismatch', 'the bytes do not have the checksum that was given; send the piece again');

/** 400 for a body that goes on past the end of the upload. */
export const tooLong = (): ApiError =>
  badRequest('the body has more bytes than the upload lacks; compare Upload-Length', {
    body: ['has more bytes than the upload lacks'],
  });

/** Its connection broke. */
function isCut(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return code === 'ECONNRESET' || code === 'ERR_STREAM_PREMATURE_CLOSE' || code === 'ABORT_ERR';
}
