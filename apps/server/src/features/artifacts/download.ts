import { contract } from '@svc/contract';
import { Answer, operation } from '../../kernel/feature.ts';
import { attachment, openSigned } from './artifacts.link.ts';

/** Never shown in place: whatever the file is, no browser runs it under the platform's address. */
export const download = operation(contract.artifacts.download, async ({ kernel }, { params, query }) => {
  const { row, body, bytes } = await openSigned(kernel, { id: params.id, ...query });
  return new Answer(body, {
    headers: {
      'content-type': row.mime,
      'content-length': String(bytes),
      'content-disposition': attachment(row.path),
      'content-security-policy': "sandbox; default-src 'none'",
      'cache-control': 'private, no-store',
      'x-content-type-options': 'nosniff',
    },
  });
});
