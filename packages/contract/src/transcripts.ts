import { z } from 'zod';
import { instant, limit, nextCursor, resettable, text, uuid } from './fields.ts';
import { prompt } from './prompts.ts';
import { json, route } from './route.ts';
import { transcriptLibrary } from './transcripts.library.ts';
import { transcriptReading } from './transcripts.reading.ts';
import {
  bookmark,
  mostRecordingMs,
  newBookmark,
  speaker,
  tracks,
  transcript,
  transcriptStates,
  transcriptSummary,
  transcriptTerms,
  utterance,
} from './transcripts.shapes.ts';

const byId = z.object({ id: uuid });
const one = z.object({ transcript });
const flag = z.enum(['true', 'false']).transform((value) => value === 'true');

/** A caption of a frame. */
const final = z.object({
  text: text(500),
  speaker: text(64).optional(),
  track: z.enum(tracks).optional(),
  start_ms: z
    .int()
    .min(0)
    .max(2 * mostRecordingMs),
  end_ms: z
    .int()
    .min(0)
    .max(2 * mostRecordingMs),
});
const mostFrameBytes = 6_000;

/** Recorded meetings (document 1, Transcripts; design: transcripts). */
export const transcripts = {
  list: route({
    method: 'GET',
    path: '/v1/transcripts',
    summary: "The account's recordings, newest first, without what was said",
    auth: 'key',
    query: z.object({
      folder_id: uuid.optional(),
      tag: text(64).min(1).optional(),
      status: z.enum(transcriptStates).optional(),
      pinned: flag.optional().describe('`true`: only those that are pinned; `false`: only the others'),
      q: text(200).min(1).optional().describe('A part of the title'),
      limit: limit(200, 50),
      cursor: text(200).min(1).optional(),
    }),
    answers: json(z.object({ transcripts: z.array(transcriptSummary), ...nextCursor })),
  }),
  create: route({
    method: 'POST',
    path: '/v1/transcripts',
    summary: 'Begin a recording; the same `client_id` answers the same transcript with 200',
    auth: 'key',
    idempotent: true,
    takes: json(
      z.object({
        client_id: text(128).min(1).optional().describe('Of the client; makes a repeat harmless'),
        started_at: instant.optional().describe('Default: now; at most a day ahead'),
        source: text(64).min(1).default('app').describe('Such as `desktop`, `phone`, `import`'),
        title: transcriptTerms.title.optional(),
        language: transcriptTerms.language.optional(),
        folder_id: transcriptTerms.folder_id.optional(),
        tags: transcriptTerms.tags.default([]),
        consent: transcriptTerms.consent.optional(),
      }),
    ),
    answers: json(one, 201).or(200, one),
    errors: ['not_found', 'quota_exceeded'],
  }),
  ...transcriptReading,
  get: route({
    method: 'GET',
    path: '/v1/transcripts/{id}',
    summary: 'One recording with what was said in it',
    auth: 'key',
    params: byId,
    query: z.object({ words: z.enum(['full', 'none']).default('full').describe('`none`: without words') }),
    answers: json(one),
    errors: ['not_found'],
  }),
  update: route({
    method: 'PATCH',
    path: '/v1/transcripts/{id}',
    summary: 'Change title, language, folder, tags, pin or consent',
    auth: 'key',
    params: byId,
    takes: json(
      z.object({
        title: resettable(transcriptTerms.title),
        language: resettable(transcriptTerms.language),
        folder_id: resettable(transcriptTerms.folder_id),
        tags: resettable(transcriptTerms.tags),
        pinned: resettable(z.boolean()),
        consent: resettable(transcriptTerms.consent),
      }),
    ),
    answers: json(one),
    errors: ['not_found'],
  }),
  remove: route({
    method: 'DELETE',
    path: '/v1/transcripts/{id}',
    summary: 'Delete a recording: text, insights, links and audio; what is under way ends',
    auth: 'key',
    params: byId,
    answers: json(z.object({ deleted: z.literal(true), id: uuid })),
    errors: ['not_found'],
  }),
  finalize: route({
    method: 'POST',
    path: '/v1/transcripts/{id}/finalize',
    summary: 'The recording is over: hand its uploads in to be transcribed',
    auth: 'key',
    idempotent: true,
    params: byId,
    takes: json(
      z.object({
        duration_ms: z
          .int()
          .min(0)
          .max(24 * 3_600_000)
          .describe('As the client measured it; the audio decides'),
        uploads: z
          .array(z.object({ track: z.enum(tracks), upload_id: uuid }))
          .min(1)
          .max(3)
          .refine((all) => new Set(all.map(({ track }) => track)).size === all.length, 'must be one of each track'),
        bookmarks: z.array(newBookmark).max(500).default([]),
        preview_text: text(200_000).optional().describe('Captions of the client, for when nothing can transcribe'),
      }),
    ),
    answers: json(one),
    errors: [
      'not_found',
      'already_finalized',
      'upload_incomplete',
      'upload_gone',
      'upload_locked',
      'quota_exceeded',
      'unavailable',
    ],
  }),
  retranscribe: route({
    method: 'POST',
    path: '/v1/transcripts/{id}/retranscribe',
    summary: 'Transcribe the audio anew; after a failure only what failed',
    auth: 'key',
    idempotent: true,
    params: byId,
    answers: json(one),
    errors: ['not_found', 'not_finalized', 'still_processing', 'audio_purged', 'quota_exceeded'],
  }),
  reanalyze: route({
    method: 'POST',
    path: '/v1/transcripts/{id}/reanalyze',
    summary: 'Write the insights anew',
    auth: 'key',
    idempotent: true,
    params: byId,
    answers: json(one),
    errors: ['not_found', 'not_finalized', 'still_processing', 'nothing_heard'],
  }),
  live: route({
    method: 'POST',
    path: '/v1/transcripts/{id}/live',
    summary: 'A frame of rolling captions, for those who follow',
    auth: 'key',
    notIdempotent: 'a frame is shown and not kept',
    params: byId,
    takes: json(
      z
        .object({
          finals: z.array(final).max(20).default([]),
          partial: text(1_000).optional(),
          level: z.number().min(0).max(1).optional(),
          device: text(120).optional(),
          elapsed_ms: z
            .int()
            .min(0)
            .max(2 * mostRecordingMs)
            .optional(),
          paused: z.boolean().optional(),
        })
        .refine(
          (frame) => new TextEncoder().encode(JSON.stringify(frame)).length <= mostFrameBytes,
          'must be at most 6,000 bytes of JSON',
        ),
    ),
    answers: json(
      z.object({ accepted: z.boolean().describe('`false`: within 250 ms of the frame before, or not recording') }),
    ),
    errors: ['not_found'],
  }),
  bookmark: route({
    method: 'POST',
    path: '/v1/transcripts/{id}/bookmarks',
    summary: 'Mark a moment',
    auth: 'key',
    idempotent: true,
    params: byId,
    takes: json(newBookmark),
    answers: json(z.object({ bookmark }), 201),
    errors: ['not_found', 'quota_exceeded'],
  }),
  removeBookmark: route({
    method: 'DELETE',
    path: '/v1/transcripts/{id}/bookmarks/{bookmarkId}',
    summary: 'Take a mark away',
    auth: 'key',
    params: z.object({ id: uuid, bookmarkId: uuid }),
    answers: json(z.object({ deleted: z.literal(true), id: uuid })),
    errors: ['not_found'],
  }),
  updateSpeaker: route({
    method: 'PATCH',
    path: '/v1/transcripts/{id}/speakers/{label}',
    summary: 'Name a speaker, or mark the one who is the user; an existing name merges the two',
    auth: 'key',
    params: z.object({ id: uuid, label: text(64).min(1) }),
    takes: json(
      z.object({
        name: resettable(text(120).refine((value) => value.trim() !== '', 'must not be blank')),
        is_self: resettable(z.boolean()),
      }),
    ),
    answers: json(z.object({ speaker, speakers: z.array(speaker) })),
    errors: ['not_found'],
  }),
  updateUtterance: route({
    method: 'PATCH',
    path: '/v1/transcripts/{id}/utterances/{seq}',
    summary: 'Correct what was said, or who said it',
    auth: 'key',
    params: z.object({
      id: uuid,
      seq: z
        .string()
        .regex(/^\d{1,7}$/, 'must be a number')
        .transform(Number)
        .pipe(z.int().nonnegative()) as unknown as z.ZodType<number, number>,
    }),
    takes: json(
      z.object({
        text: text(4_000)
          .refine((value) => value.trim() !== '', 'must not be blank')
          .nullable()
          .optional()
          .describe('`null`: as it was heard'),
        speaker: text(16).min(1).optional(),
      }),
    ),
    answers: json(z.object({ utterance })),
    errors: ['not_found'],
  }),
  acceptPrompt: route({
    method: 'POST',
    path: '/v1/transcripts/{id}/prompts/{index}/accept',
    summary: 'Keep a suggested prompt for later',
    auth: 'key',
    idempotent: true,
    params: z.object({
      id: uuid,
      index: z
        .string()
        .regex(/^\d{1,3}$/, 'must be a number')
        .transform(Number)
        .pipe(z.int().nonnegative()) as unknown as z.ZodType<number, number>,
    }),
    answers: json(z.object({ created: z.boolean(), id: uuid, prompt }), 201).or(
      200,
      z.object({ created: z.boolean(), id: uuid, prompt }),
    ),
    errors: ['not_found', 'quota_exceeded'],
  }),
  ...transcriptLibrary,
};
