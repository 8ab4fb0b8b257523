import { z } from 'zod';
import type { ErrorKind } from './errors.ts';
import { text, uuid } from './fields.ts';
import { bytes, route } from './route.ts';

/** A range of bytes that a file does not have (RFC 9110, 15.5.17). */
export const artifactErrors = {
  range_not_satisfiable: { status: 416, type: 'invalid_request_error' },
} as const satisfies Record<string, ErrorKind>;

/** Files that sandboxes hand out, by signed link (document 3, Artifact). */
export const artifacts = {
  download: route({
    method: 'GET',
    auth: 'open',
    path: '/v1/artifacts/{id}',
    summary: 'The bytes behind a signed link, which is valid for 1 h; as an attachment',
    params: z.object({ id: uuid }),
    query: z.object({ expires: text(20).default(''), signature: text(100).default('') }),
    headers: z.object({
      range: z
        .string()
        .optional()
        .describe('One range of bytes, answered with 206; several are answered with all of it'),
      'if-range': z.string().optional().describe('The `etag` of the answer before; of another file all of it comes'),
    }),
    answers: bytes(0, '*/*', true),
    errors: ['bad_request', 'forbidden', 'not_found', 'range_not_satisfiable', 'unavailable'],
  }),
};
