import { contract } from '@svc/contract';
import { Answer, operation } from '../../kernel/feature.ts';
import { ApiError } from '../../kernel/base/errors.ts';
import { type Range, rangeOf } from '../../kernel/http/ranges.ts';
import { attachment, openSigned } from './artifacts.link.ts';
import type { ArtifactRow } from './artifacts.sql.ts';

/** Never shown in place: whatever the file is, no browser runs it under the platform's address. */
export const download = operation(contract.artifacts.download, async ({ kernel }, { params, query, headers }) => {
  let range: Range | undefined;
  const select = (row: ArtifactRow): Range | undefined => (range = askedOf(row, headers));
  const { row, body, bytes } = await openSigned(kernel, { id: params.id, ...query }, select);
  return new Answer(body, {
    status: range ? 206 : 200,
    headers: {
      'content-type': row.mime,
      'content-length': String(bytes),
      ...(range && { 'content-range': `bytes ${range.start}-${range.end}/${row.bytes}` }),
      'accept-ranges': 'bytes',
      etag: etagOf(row),
      'content-disposition': attachment(row.path),
      'content-security-policy': "sandbox; default-src 'none'",
      'cache-control': 'private, no-store',
      'x-content-type-options': 'nosniff',
    },
  });
});

const etagOf = ({ sha256 }: ArtifactRow): string => `"${sha256}"`;

/** The range that a resumed download asks for; undefined: the whole file. */
function askedOf(
  row: ArtifactRow,
  { range, ...headers }: { range?: string | undefined; 'if-range'?: string | undefined },
) {
  const { 'if-range': condition } = headers;
  if (condition !== undefined && condition !== etagOf(row)) return undefined;
  const asked = rangeOf(range, row.bytes);
  if (asked !== null) return asked;
  const message = `the file has ${row.bytes} bytes, and none of those that \`range\` asks for`;
  throw new ApiError('range_not_satisfiable', message, { headers: { 'content-range': `bytes */${row.bytes}` } });
}
