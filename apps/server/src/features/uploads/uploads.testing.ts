import assert from 'node:assert/strict';
import { type ClientRequest, request } from 'node:http';
import type { TestAccount, TestGateway } from '../../testing.ts';

/** An upload as its client knows it. */
export interface BegunUpload {
  id: string;
  /** Its address. */
  url: string;
}

/** The headers of a tus request of this account. */
export const tusOf = ({ key }: Pick<TestAccount, 'key'>): Record<string, string> => ({
  authorization: `Bearer ${key}`,
  'tus-resumable': '1.0.0',
});

const pieceType = 'application/offset+octet-stream';

/** Begins an upload of so many bytes, or of these bytes, which it then has; with metadata. */
export async function beginUpload(
  { url }: Pick<TestGateway, 'url'>,
  account: Pick<TestAccount, 'key'>,
  content: number | Buffer,
  metadata: Readonly<Record<string, string>> = {},
  more: Readonly<Record<string, string>> = {},
): Promise<BegunUpload> {
  const pairs = Object.entries(metadata).map(([name, value]) => `${name} ${Buffer.from(value).toString('base64')}`);
  const answer = await fetch(`${url}/v1/uploads`, {
    method: 'POST',
    headers: {
      ...tusOf(account),
      'upload-length': String(typeof content === 'number' ? content : content.length),
      ...(pairs.length > 0 && { 'upload-metadata': pairs.join(',') }),
      ...(typeof content !== 'number' && { 'content-type': pieceType }),
      ...more,
    },
    ...(typeof content !== 'number' && { body: content as Uint8Array<ArrayBuffer> }),
  });
  assert.equal(answer.status, 201, await answer.clone().text());
  const { id } = (await answer.json()) as { id: string };
  return { id, url: new URL(answer.headers.get('location') as string, url).href };
}

/** Sends a piece. */
export const sendPiece = (
  upload: Pick<BegunUpload, 'url'>,
  account: Pick<TestAccount, 'key'>,
  at: number,
  body: Buffer | ReadableStream,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> =>
  fetch(upload.url, {
    method: 'PATCH',
    headers: { ...tusOf(account), 'content-type': pieceType, 'upload-offset': String(at), ...headers },
    body: body as Uint8Array<ArrayBuffer>,
    ...({ duplex: 'half' } as object),
  });

/** A PATCH, or a POST that begins an upload, whose body is sent as the test says, so that it may stall or be cut. */
export function openPatch(
  upload: Pick<BegunUpload, 'url'>,
  account: Pick<TestAccount, 'key'>,
  at: number,
  length: number,
  more: Readonly<Record<string, string>> = {},
  method: 'PATCH' | 'POST' = 'PATCH',
): { patch: ClientRequest; status: Promise<number> } {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const patch = request(upload.url, {
    method,
    headers: {
      ...tusOf(account),
      'content-type': pieceType,
      'upload-offset': at,
      'content-length': length,
      ...more,
    },
  });
  patch.on('response', (answer) => resolve(answer.resume().statusCode ?? 0));
  patch.on('error', reject);
  promise.catch(() => {});
  return { patch, status: promise };
}

/** Where an upload is, by HEAD. */
export async function offsetOf(upload: Pick<BegunUpload, 'url'>, account: Pick<TestAccount, 'key'>): Promise<number> {
  const answer = await fetch(upload.url, { method: 'HEAD', headers: tusOf(account) });
  assert.equal(answer.status, 200);
  return Number(answer.headers.get('upload-offset'));
}
