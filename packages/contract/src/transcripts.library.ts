import { z } from 'zod';
import { dateTime, limit, nextCursor, resettable, text, uuid } from './fields.ts';
import { bytes, json, route } from './route.ts';
import { folder, publicTranscript, share, tracks, vocabularyEntry } from './transcripts.shapes.ts';

const byId = z.object({ id: uuid });
const oneFolder = z.object({ folder });
const vocabulary = z.object({ entries: z.array(vocabularyEntry), updated_at: dateTime.nullable() });
const vocabularyBytes = 64 * 1024;
const folderFields = {
  name: text(120).refine((value) => value.trim() !== '', 'must not be blank'),
  color: z.string().regex(/^#[0-9a-f]{6}$/i, 'must be a colour such as #1a2b3c'),
  parent_id: uuid,
  position: z.int().min(0).max(1_000_000),
};

/** Share links, folders, vocabulary and playback: what stands beside the recordings themselves. */
export const transcriptLibrary = {
  audio: route({
    method: 'GET',
    path: '/v1/transcripts/{id}/audio',
    summary: 'Signed addresses of the tracks, valid for an hour',
    auth: 'key',
    params: byId,
    answers: json(
      z.object({
        tracks: z.array(
          z.object({
            track: z.enum(tracks),
            url: z.url(),
            expires_at: dateTime,
            content_type: z.string(),
            bytes: z.int().nonnegative(),
            duration_ms: z.int().nonnegative().nullable(),
          }),
        ),
      }),
    ),
    errors: ['not_found', 'audio_purged', 'not_finalized'],
  }),
  playAudio: route({
    method: 'GET',
    path: '/v1/transcripts/{id}/audio/{track}',
    summary: 'The sound behind a signed address, to be played in place',
    auth: 'open',
    params: z.object({ id: uuid, track: z.enum(tracks) }),
    query: z.object({ expires: text(20).default(''), signature: text(100).default('') }),
    headers: z.object({ range: z.string().optional(), 'if-range': z.string().optional() }),
    answers: bytes(0, '*/*', true),
    errors: ['bad_request', 'forbidden', 'not_found', 'range_not_satisfiable', 'unavailable'],
  }),
  share: route({
    method: 'POST',
    path: '/v1/transcripts/{id}/shares',
    summary: 'Make a link by which anybody can read the transcript; its token is shown once',
    auth: 'key',
    idempotent: true,
    shownOnce: true,
    params: byId,
    takes: json(z.object({ expiresInDays: z.int().min(1).max(365).optional().describe('Absent: it never expires') })),
    answers: json(z.object({ id: uuid, token: z.string(), url: z.string(), expiresAt: dateTime.nullable() }), 201),
    errors: ['not_found', 'quota_exceeded'],
  }),
  listShares: route({
    method: 'GET',
    path: '/v1/transcripts/{id}/shares',
    summary: 'Links that are active, newest first',
    auth: 'key',
    params: byId,
    query: z.object({ limit: limit(1_000, 1_000), cursor: text(200).min(1).optional() }),
    answers: json(z.object({ shares: z.array(share), ...nextCursor })),
    errors: ['not_found'],
  }),
  revokeShare: route({
    method: 'DELETE',
    path: '/v1/transcripts/{id}/shares/{shareId}',
    summary: 'Revoke a link at once',
    auth: 'key',
    params: z.object({ id: uuid, shareId: uuid }),
    answers: json(z.object({ deleted: z.literal(true), id: uuid })),
    errors: ['not_found'],
  }),
  publicTranscript: route({
    method: 'GET',
    path: '/v1/public/transcripts/{token}',
    summary: 'A shared transcript, for anybody who has the link',
    auth: 'open',
    params: z.object({ token: text(200).min(1) }),
    answers: json(publicTranscript),
    errors: ['not_found', 'rate_limit_exceeded', 'unavailable'],
  }),
  listFolders: route({
    method: 'GET',
    path: '/v1/transcript-folders',
    summary: 'Folders, by parent and position',
    auth: 'key',
    query: z.object({ limit: limit(1_000, 1_000), cursor: text(200).min(1).optional() }),
    answers: json(z.object({ folders: z.array(folder), ...nextCursor })),
  }),
  createFolder: route({
    method: 'POST',
    path: '/v1/transcript-folders',
    summary: 'Make a folder',
    auth: 'key',
    idempotent: true,
    takes: json(
      z.object({
        name: folderFields.name,
        color: folderFields.color.optional(),
        parent_id: folderFields.parent_id.optional(),
        position: folderFields.position.default(0),
      }),
    ),
    answers: json(oneFolder, 201),
    errors: ['not_found', 'quota_exceeded'],
  }),
  getFolder: route({
    method: 'GET',
    path: '/v1/transcript-folders/{id}',
    summary: 'One folder',
    auth: 'key',
    params: byId,
    answers: json(oneFolder),
    errors: ['not_found'],
  }),
  updateFolder: route({
    method: 'PATCH',
    path: '/v1/transcript-folders/{id}',
    summary: 'Rename, colour or move a folder',
    auth: 'key',
    params: byId,
    takes: json(
      z.object({
        name: folderFields.name.optional(),
        color: resettable(folderFields.color),
        parent_id: resettable(folderFields.parent_id),
        position: resettable(folderFields.position),
      }),
    ),
    answers: json(oneFolder),
    errors: ['not_found'],
  }),
  removeFolder: route({
    method: 'DELETE',
    path: '/v1/transcript-folders/{id}',
    summary: 'Delete a folder; its transcripts and its folders go on without it',
    auth: 'key',
    params: byId,
    answers: json(z.object({ deleted: z.literal(true), id: uuid })),
    errors: ['not_found'],
  }),
  vocabulary: route({
    method: 'GET',
    path: '/v1/transcript-vocabulary',
    summary: 'Names and words of the account, for recordings to come',
    auth: 'key',
    answers: json(vocabulary),
  }),
  setVocabulary: route({
    method: 'PUT',
    path: '/v1/transcript-vocabulary',
    summary: 'Replace them',
    auth: 'key',
    takes: json(
      z.object({
        entries: z
          .array(vocabularyEntry)
          .max(1_000)
          .refine(
            (entries) => new TextEncoder().encode(JSON.stringify(entries)).length <= vocabularyBytes,
            'must be at most 64 KiB as JSON',
          ),
      }),
    ),
    answers: json(vocabulary),
  }),
};
