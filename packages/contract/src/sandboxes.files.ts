import { z } from 'zod';
import { dateTime, text, uuid } from './fields.ts';
import { bytes, json, route } from './route.ts';
import { artifact, fileEntry, onSandboxes, scanVerdict, ttlSeconds } from './sandboxes.shapes.ts';

const params = z.object({ id: uuid });
const path = text(1024).describe('Relative to /workspace');
const onFile = z.object({ id: uuid, path });
const errors = ['sandbox_not_running', 'sandbox_capacity'] as const;
/** Of what takes files into the store: one listing or one workspace too large, or too much stored already. */
const storing = ['workspace_too_large', 'quota_exceeded'] as const;
/** The files of a sandbox, what it hands out, and addresses of its ports (document 3, Files, Artifact, Preview). */
export const sandboxFiles = {
  writeFile: route({
    ...onSandboxes,
    method: 'PUT',
    path: '/v1/sandboxes/{id}/files/{path*}',
    summary: 'Write a file of at most 100 MiB, whole or not at all',
    takes: bytes(100 * 1024 * 1024),
    params: onFile,
    answers: json(z.object({ path: z.string(), bytes: z.int(), sha256: z.string(), generation: z.int() })),
    errors: [...errors, 'workspace_too_large'],
  }),
  readFile: route({
    ...onSandboxes,
    method: 'GET',
    path: '/v1/sandboxes/{id}/files/{path*}',
    summary: 'The bytes of a file',
    params: onFile,
    answers: bytes(),
    errors: [...errors, 'workspace_too_large'],
  }),
  listFiles: route({
    ...onSandboxes,
    method: 'GET',
    path: '/v1/sandboxes/{id}/files',
    summary: 'The entries of a directory, one level',
    params,
    query: z.object({ path: path.default('') }),
    answers: json(
      z.object({
        entries: z.array(fileEntry),
      }),
    ),
    errors: [...errors, 'workspace_too_large'],
  }),
  artifacts: route({
    ...onSandboxes,
    method: 'GET',
    path: '/v1/sandboxes/{id}/artifacts',
    summary: 'Collect every file under /workspace/out: hashed, scanned, with signed links',
    params,
    answers: json(z.object({ data: z.array(artifact) })),
    errors: [...errors, ...storing],
  }),
  snapshot: route({
    ...onSandboxes,
    method: 'POST',
    path: '/v1/sandboxes/{id}/snapshot',
    summary: 'Pack the workspace into a tar archive, scanned, with a signed link; v1',
    idempotent: true,
    params,
    takes: json(z.object({ name: text(128).optional() })),
    answers: json(
      z.object({
        object: z.literal('snapshot'),
        id: uuid,
        name: z.string().optional(),
        bytes: z.int(),
        sha256: z.string(),
        scan: scanVerdict,
        url: z
          .string()
          .optional()
          .describe('Signed link to the archive, valid 1 h; present only when the scan is clean'),
        expires_at: dateTime,
      }),
    ),
    errors: [...errors, ...storing, 'not_supported_on_v2'],
  }),
  preview: route({
    ...onSandboxes,
    method: 'POST',
    path: '/v1/sandboxes/{id}/preview',
    summary: 'An address that forwards HTTP and WebSocket to a port inside, for anyone who has it',
    idempotent: true,
    shownOnce: true,
    params: z.object({ id: uuid }),
    takes: json(
      z.object({
        port: z
          .int()
          .min(1024)
          .max(65_535)
          .refine((port) => port !== 8080, 'must not be 8080'),
        ttl_seconds: ttlSeconds(60, 3600).default(900),
      }),
    ),
    answers: json(
      z.object({
        port: z.int(),
        url: z
          .string()
          .describe(
            'An origin of its own; without a preview domain `http://<token>.localhost:<port>/`, which a client that is no browser may ask as `http://127.0.0.1:<port>/<token>/`',
          ),
        expires_at: dateTime,
      }),
    ),
    errors: ['sandbox_not_running', 'sandbox_capacity', 'invalid_ttl'],
  }),
};
