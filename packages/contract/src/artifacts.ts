import { z } from 'zod';
import { text, uuid } from './fields.ts';
import { bytes, route } from './route.ts';

/** Files that sandboxes hand out, by signed link (document 3, Artifact). */
export const artifacts = {
  download: route({
    method: 'GET',
    auth: 'open',
    path: '/v1/artifacts/{id}',
    summary: 'The bytes behind a signed link, which is valid for 1 h; as an attachment',
    params: z.object({ id: uuid }),
    query: z.object({ expires: text(20).default(''), signature: text(100).default('') }),
    answers: bytes(0, '*/*'),
    errors: ['bad_request', 'forbidden', 'not_found', 'unavailable'],
  }),
};
