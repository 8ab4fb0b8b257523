import { missingBlob } from '../../kernel/outside/blobs.ts';
import { timingSafeEqual } from 'node:crypto';
import { basename } from 'node:path';
import type { Readable } from 'node:stream';
import type { ByteRange } from '../../kernel/outside/blobs.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { ApiError, notFound } from '../../kernel/base/errors.ts';
import { type ArtifactRow, artifactById } from './artifacts.sql.ts';

const signatureOf = (kernel: Kernel, id: string, expires: string): Buffer =>
  kernel.keyring.mac('artifacts', `${id}.${expires}`);

/** The signed link of a file, valid until its row says. */
export function linkOf(kernel: Kernel, { id, expires_at }: Pick<ArtifactRow, 'id' | 'expires_at'>): string {
  const expires = String(Math.floor(Date.parse(expires_at) / 1000));
  const signature = signatureOf(kernel, id, expires).toString('base64url');
  return `${kernel.config.baseUrl}/v1/artifacts/${id}?expires=${expires}&signature=${signature}`;
}

/** The parts of a link. */
interface Link {
  id: string;
  expires: string;
  signature: string;
}

/** The file behind a link, or its bytes that `select` chooses. */
export async function openSigned(
  kernel: Kernel,
  link: Link,
  select: (row: ArtifactRow) => ByteRange | undefined = () => undefined,
): Promise<{ row: ArtifactRow; body: Readable; bytes: number }> {
  const row = await findSigned(kernel, link);
  const blob = await kernel.blobs.get(`artifacts/${row.id}`, select(row));
  if (!blob) {
    // Deleted meanwhile, or never here.
    if ((await artifactById(kernel.sql, row.id))?.scan !== 'clean') throw notFound('artifact');
    kernel.log.error({ artifact: row.id }, 'the file of an artifact is missing');
    throw missingBlob('this file');
  }
  return { row, ...blob };
}

/** 403 without a hint for a link that is forged, changed or past its time. */
async function findSigned(kernel: Kernel, { id, expires, signature }: Link): Promise<ArtifactRow> {
  const given = Buffer.from(signature, 'base64url');
  const expected = signatureOf(kernel, id, expires);
  const isGenuine = given.length === expected.length && timingSafeEqual(given, expected);
  if (!isGenuine || !(Number(expires) * 1000 > kernel.clock.now())) {
    throw new ApiError('forbidden', 'this link is not valid; ask for a new one');
  }
  const row = await artifactById(kernel.sql, id);
  if (row?.scan !== 'clean') throw notFound('artifact');
  return row;
}

/** Opens one of the platform's own links; undefined for any other address. */
export async function openLink(kernel: Kernel, address: string) {
  const prefix = `${kernel.config.baseUrl}/v1/artifacts/`;
  if (!address.startsWith(prefix) || !URL.canParse(address)) return undefined;
  const url = new URL(address);
  const id = url.pathname.split('/').at(-1) ?? '';
  if (!/^[0-9a-f-]{36}$/.test(id)) throw notFound('artifact');
  const { searchParams } = url;
  return openSigned(kernel, {
    id,
    expires: searchParams.get('expires') ?? '',
    signature: searchParams.get('signature') ?? '',
  });
}

/** A file name for `content-disposition`, in the encoding of RFC 8187. */
export function attachment(path: string): string {
  const name = basename(path);
  const plain = name.replace(/[^\x20-\x7e]|["\\%]/g, '_');
  const encoded = encodeURIComponent(name.toWellFormed()).replace(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16)}`);
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`;
}
