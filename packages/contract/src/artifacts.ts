import { z } from 'zod';
import { route, text, uuid } from './route.ts';

/** Files that sandboxes hand out, by signed link (document 3, Artifact). */
export const artifacts = {
  download: route({
    method: 'GET',
    auth: 'open',
    path: '/v1/artifacts/{id}',
    summary: 'The bytes behind a signed link, which is valid for 1 h; as an attachment',
    download: true,
    params: z.object({ id: uuid }),
    query: z.object({ expires: text(20).default(''), signature: text(100).default('') }),
    responses: { 200: z.instanceof(Uint8Array<ArrayBufferLike>) },
    errors: ['bad_request', 'forbidden', 'not_found', 'unavailable'],
  }),
};
