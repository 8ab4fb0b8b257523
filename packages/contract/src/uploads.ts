import { z } from 'zod';
import type { ErrorKind } from './errors.ts';
import { dateTime, text, uuid } from './fields.ts';
import { bytes, json, nothing, route } from './route.ts';

/** Refusals of tus 1.0, and of uploads that cannot go on. */
export const uploadErrors = {
  upload_conflict: { status: 409, type: 'conflict_error' },
  upload_incomplete: { status: 409, type: 'conflict_error' },
  upload_gone: { status: 410, type: 'not_found_error' },
  tus_version: { status: 412, type: 'invalid_request_error' },
  content_type: { status: 415, type: 'invalid_request_error' },
  upload_locked: { status: 423, type: 'conflict_error' },
  checksum_mismatch: { status: 460, type: 'invalid_request_error' },
} as const satisfies Record<string, ErrorKind>;

/** Bytes of one request at most (document 1, Limits). */
const uploadChunkBytes = 8 * 1024 * 1024;

/** A file that comes in pieces. */
export const upload = z
  .object({
    id: uuid,
    offset: z.int().nonnegative().describe('Bytes that are stored and synced: the next piece begins here'),
    length: z.int().nonnegative().describe('Bytes of the whole file'),
    metadata: z.record(z.string(), z.string()).describe('`Upload-Metadata`, decoded'),
    sha256: z.string().optional().describe('Of the whole, in hex, when the client gave `Repr-Digest`'),
    created_at: dateTime,
    completed_at: dateTime.optional(),
    expires_at: dateTime.optional().describe('Absent once a transcript has it: it does not expire any more'),
    transcript_id: uuid.optional().describe('The transcript that has it'),
  })
  .meta({ id: 'Upload' });

const tusVersion = z.string().optional().describe('`1.0.0`');
const checksum = z
  .string()
  .optional()
  .describe('`sha1 <base64>` or `sha256 <base64>` of the body; without a match nothing of it is kept');
const digest = z
  .string()
  .optional()
  .describe('RFC 9530, `sha-256=:<base64>:` of the whole file; checked before the last piece is taken');
const length = z.string().optional().describe('Bytes of the whole file');
const offset = z.string().optional().describe('Where the body belongs: the `Upload-Offset` of the last answer');
const params = z.object({ id: uuid });
const piece = bytes(uploadChunkBytes, 'application/offset+octet-stream');
const ofPiece = ['upload_conflict', 'upload_gone', 'tus_version', 'content_type', 'checksum_mismatch'] as const;

/** Resumable uploads by tus 1.0 with creation, creation-with-upload, termination, expiration and checksum (document 1, Transcripts). */
export const uploads = {
  options: route({
    method: 'OPTIONS',
    path: '/v1/uploads',
    summary: 'What this server knows of tus: version, extensions, largest upload, checksums',
    auth: 'open',
    answers: nothing,
  }),
  create: route({
    method: 'POST',
    path: '/v1/uploads',
    summary: 'Begins an upload; with a body its first piece',
    auth: 'key',
    notIdempotent: 'an upload whose answer was lost holds nothing and expires; the client begins another one',
    headers: z.object({
      'tus-resumable': tusVersion,
      'upload-length': length,
      'upload-defer-length': z.string().optional().describe('Refused: the length must be known'),
      'upload-metadata': z.string().optional().describe('`name base64,name base64`, at most 4 KiB'),
      'upload-checksum': checksum,
      'repr-digest': digest,
    }),
    takes: piece,
    answers: json(upload, 201),
    errors: [...ofPiece, 'payload_too_large', 'quota_exceeded'],
  }),
  get: route({
    method: 'GET',
    path: '/v1/uploads/{id}',
    summary: 'How far an upload is; HEAD answers the same in headers, and never waits for a request that brings bytes',
    auth: 'key',
    params,
    headers: z.object({ 'tus-resumable': tusVersion }),
    answers: json(upload),
    errors: ['not_found', 'upload_gone', 'tus_version'],
  }),
  append: route({
    method: 'PATCH',
    path: '/v1/uploads/{id}',
    summary: 'Adds a piece of at most 8 MiB at the offset where the upload is',
    auth: 'key',
    params,
    headers: z.object({
      'tus-resumable': tusVersion,
      'upload-offset': offset,
      'upload-checksum': checksum,
      'repr-digest': digest,
    }),
    takes: piece,
    answers: nothing,
    errors: [...ofPiece, 'not_found', 'payload_too_large'],
  }),
  remove: route({
    method: 'DELETE',
    path: '/v1/uploads/{id}',
    summary: 'Deletes an upload and its bytes',
    auth: 'key',
    params,
    headers: z.object({ 'tus-resumable': tusVersion }),
    answers: nothing,
    errors: ['not_found', 'upload_gone', 'tus_version', 'upload_locked'],
  }),
  override: route({
    method: 'POST',
    path: '/v1/uploads/{id}',
    summary: 'PATCH, DELETE or HEAD, for clients that can send POST only',
    auth: 'key',
    notIdempotent: 'it stands for another method; the offset says whether a piece was taken',
    params,
    headers: z.object({
      'x-http-method-override': text(20).optional().describe('`PATCH`, `DELETE` or `HEAD`'),
      'tus-resumable': tusVersion,
      'upload-offset': offset,
      'upload-checksum': checksum,
      'repr-digest': digest,
    }),
    takes: piece,
    answers: nothing,
    errors: [...ofPiece, 'not_found', 'payload_too_large', 'upload_locked'],
  }),
};
