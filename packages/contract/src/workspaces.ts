import { z } from 'zod';
import { dateTime, route, text, uuid } from './route.ts';
import { artifact, onSandboxes } from './sandboxes.shapes.ts';

const params = z.object({ id: uuid });
const path = text(1024).describe('Relative to /workspace');
const onFile = z.object({ id: uuid, path });
const errors = ['sandbox_not_running', 'sandbox_capacity'] as const;
/** Of what takes files into the store: one listing or one workspace too large, or too much stored already. */
const storing = ['workspace_too_large', 'quota_exceeded'] as const;
/** Bytes in a response. */
const bytes = z.instanceof(Uint8Array<ArrayBufferLike>);

/** The files of a sandbox, and what it hands out (document 3, Files, Artifact). */
export const workspaces = {
  writeFile: route({
    ...onSandboxes,
    method: 'PUT',
    path: '/v1/sandboxes/{id}/files/{path}',
    rest: true,
    summary: 'Write a file of at most 100 MiB, whole or not at all',
    upload: 100 * 1024 * 1024,
    params: onFile,
    body: bytes,
    responses: {
      200: z.object({ path: z.string(), bytes: z.int(), sha256: z.string(), generation: z.int() }),
    },
    errors: [...errors, 'workspace_too_large'],
  }),
  readFile: route({
    ...onSandboxes,
    method: 'GET',
    path: '/v1/sandboxes/{id}/files/{path}',
    rest: true,
    summary: 'The bytes of a file',
    download: true,
    params: onFile,
    responses: { 200: bytes },
    errors: [...errors, 'workspace_too_large'],
  }),
  listFiles: route({
    ...onSandboxes,
    method: 'GET',
    path: '/v1/sandboxes/{id}/files',
    summary: 'The entries of a directory, one level',
    params,
    query: z.object({ path: path.default('') }),
    responses: {
      200: z.object({
        entries: z.array(
          z.object({
            path: z.string(),
            bytes: z.int(),
            type: z.enum(['file', 'directory', 'symlink', 'other']),
            mtime: dateTime,
          }),
        ),
      }),
    },
    errors: [...errors, 'workspace_too_large'],
  }),
  artifacts: route({
    ...onSandboxes,
    method: 'GET',
    path: '/v1/sandboxes/{id}/artifacts',
    summary: 'Collect every file under /workspace/out: hashed, scanned, with signed links',
    params,
    responses: { 200: z.object({ data: z.array(artifact) }) },
    errors: [...errors, ...storing],
  }),
  snapshot: route({
    ...onSandboxes,
    method: 'POST',
    path: '/v1/sandboxes/{id}/snapshot',
    summary: 'Pack the workspace into a tar archive, scanned, with a signed link; v1',
    params,
    body: z.object({ name: text(128).optional() }),
    responses: {
      200: z.object({
        object: z.literal('snapshot'),
        id: uuid,
        name: z.string().optional(),
        bytes: z.int(),
        sha256: z.string(),
        scan: artifact.shape.scan,
        url: z
          .string()
          .optional()
          .describe('Signed link to the archive, valid 1 h; present only when the scan is clean'),
        expires_at: dateTime,
      }),
    },
    errors: [...errors, ...storing, 'not_supported_on_v2'],
  }),
};
