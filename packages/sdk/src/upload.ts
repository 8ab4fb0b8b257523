import type { Client } from './client.ts';
import { SvcError } from './error.ts';
import { sleep } from './pause.ts';

/** A file of the account's uploads, as far as it is. */
export type UploadRecord = Awaited<ReturnType<Client['uploads']['get']>>;

/** How a file is sent. */
export interface UploadOptions {
  /** Of an upload that was begun before, with the same file: it goes on where that is. */
  id?: string;
  /** Kept with it, such as `filename` and `filetype`; 4 KiB at most. */
  metadata?: Readonly<Record<string, string>>;
  /** Bytes of a request, 8 MiB at most, which is the default. */
  pieceBytes?: number;
  /** Called when it begins, with the id to go on with after a restart, and after each piece. */
  onProgress?: (upload: UploadRecord) => void;
  signal?: AbortSignal;
}

const mostPieceBytes = 8 * 1024 * 1024;
/** Failures in a row, without a byte between them, that are borne. */
const mostFailures = 8;
const longestWaitMs = 30_000;

/**
 * Sends a file in pieces, and goes on by itself where the network fails; answers the whole upload, whose `id` makes a transcript.
 * Throws `SvcError` when the gateway refuses it, or after eight failures in a row: the upload stays, to go on with its `id`.
 */
export async function uploadFile(
  client: Client,
  file: Blob | Uint8Array,
  options: UploadOptions = {},
): Promise<UploadRecord> {
  const length = file instanceof Uint8Array ? file.byteLength : file.size;
  const { id, onProgress, signal } = options;
  const pieceBytes = Math.min(options.pieceBytes ?? mostPieceBytes, mostPieceBytes);
  const call = { ...(signal && { signal }) };
  const first = () =>
    id === undefined ? begin(client, length, options) : client.uploads.get({ params: { id } }, call);
  let upload = await patiently(first, signal);
  if (upload.length !== length)
    throw new SvcError({
      status: 0,
      code: 'upload_conflict',
      message: `the upload is of another file: ${upload.length} bytes`,
    });
  onProgress?.(upload);
  const params = { id: upload.id };
  for (let failures = 0; upload.offset < length; ) {
    const before = upload.offset;
    try {
      const body = await bytesOf(file, before, Math.min(before + pieceBytes, length));
      await client.uploads.append(
        { params, body },
        {
          ...call,
          headers: headersOf({ 'upload-offset': String(before) }),
        },
      );
    } catch (error) {
      failures += 1;
      if (!isPassing(error) || failures >= mostFailures) throw error;
      await sleep(waitMs(error, failures), signal);
    }
    // How far it is says the gateway alone: an answer may have been lost.
    upload = await patiently(() => client.uploads.get({ params }, call), signal);
    if (upload.offset > before) failures = 0;
    onProgress?.(upload);
  }
  return upload;
}

const headersOf = (more: Record<string, string>): Record<string, string> => ({
  'tus-resumable': '1.0.0',
  'content-type': 'application/offset+octet-stream',
  ...more,
});

function begin(client: Client, length: number, { metadata = {}, signal }: UploadOptions): Promise<UploadRecord> {
  const pairs = Object.entries(metadata).map(([name, value]) => `${name} ${base64(value)}`);
  const headers = headersOf({
    'upload-length': String(length),
    ...(pairs.length > 0 && { 'upload-metadata': pairs.join(',') }),
  });
  return client.uploads.create({} as never, { headers, ...(signal && { signal }) });
}

const base64 = (text: string): string => btoa(String.fromCodePoint(...new TextEncoder().encode(text)));

async function bytesOf(file: Blob | Uint8Array, start: number, end: number): Promise<Uint8Array> {
  return file instanceof Uint8Array
    ? file.subarray(start, end)
    : new Uint8Array(await file.slice(start, end).arrayBuffer());
}

/** What may be over in a moment: no answer, a fault of the gateway, or a piece that arrived though its answer was lost. */
const isPassing = (error: unknown): error is SvcError =>
  error instanceof SvcError &&
  error.mayRepeat &&
  (error.status === 0 || error.status >= 500 || [409, 423, 429, 460].includes(error.status));

const waitMs = ({ retryAfter }: SvcError, failures: number): number =>
  Math.min(longestWaitMs, retryAfter !== undefined ? retryAfter * 1_000 : 200 * 2 ** failures);

/** Does it again while it fails for a moment. */
async function patiently<T>(work: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isPassing(error) || failures >= mostFailures) throw error;
      await sleep(waitMs(error, failures), signal);
    }
  }
}
