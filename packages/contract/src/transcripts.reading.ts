import { z } from 'zod';
import { afterCursor, dateTime, feedCursor, limit, nextCursor, ready, text, uuid } from './fields.ts';
import { bytes, events, json, route } from './route.ts';
import { exportFormats, transcriptStates, utterance } from './transcripts.shapes.ts';

const byId = z.object({ id: uuid });
/** Milliseconds in a query. */
const queryMs = z
  .string()
  .regex(/^\d{1,9}$/, 'must be whole milliseconds')
  .transform(Number)
  .pipe(z.int().nonnegative()) as unknown as z.ZodType<number, number>;
const from = z.iso.datetime({ offset: true }).describe('Recordings that began at this instant or later');
const to = z.iso.datetime({ offset: true }).describe('Recordings that began before this instant');
const live = z.object({
  finals: z.array(
    z.object({
      text: z.string(),
      speaker: z.string().optional(),
      track: z.string().optional(),
      start_ms: z.int(),
      end_ms: z.int(),
    }),
  ),
  partial: z.string().optional(),
  level: z.number().optional(),
  device: z.string().optional(),
  elapsed_ms: z.int().optional(),
  paused: z.boolean().optional(),
});

/** How recordings are found, asked, followed and taken away. */
export const transcriptReading = {
  usage: route({
    method: 'GET',
    path: '/v1/transcripts/usage',
    summary: 'How much of the allowance of the month is used',
    auth: 'key',
    answers: json(
      z.object({
        period_start: dateTime,
        period_end: dateTime,
        limit_ms: z.int(),
        heard: z
          .boolean()
          .describe('Whether anything hears recordings here; without it one ends as failed, or as its live captions'),
        used_ms: z.int(),
        reserved_ms: z.int().describe('Recordings that are finalized and not transcribed yet'),
        remaining_ms: z.int(),
        max_recording_ms: z.int(),
        recordings: z.int().nonnegative().describe('Whose minutes are reserved or used in the month'),
      }),
    ),
  }),
  stream: route({
    method: 'GET',
    path: '/v1/transcripts/stream',
    summary: "Changes of the account's transcripts, and live captions",
    auth: 'key',
    query: z.object(afterCursor),
    answers: events({
      ready: ready,
      transcript: z.object({
        op: z.enum(['created', 'updated', 'deleted', 'live']).describe('`live`: a caption frame, which is not kept'),
        id: uuid,
        status: z.enum(transcriptStates).optional().describe('Absent of a deletion'),
        cursor: feedCursor.optional().describe('Absent of a caption frame'),
        live: live.optional(),
      }),
    }),
  }),
  search: route({
    method: 'GET',
    path: '/v1/transcripts/search',
    summary: 'Utterances that have the words, a name like it, or the meaning',
    auth: 'key',
    metered: true,
    query: z.object({
      q: text(500).refine((value) => value.trim() !== '', 'must not be blank'),
      mode: z.enum(['hybrid', 'text', 'semantic']).default('hybrid'),
      folder_id: uuid.optional(),
      tag: text(64).min(1).optional(),
      from: from.optional(),
      to: to.optional(),
      limit: limit(100, 20),
      cursor: text(200).min(1).optional(),
    }),
    answers: json(
      z.object({
        results: z.array(
          z.object({
            transcript_id: uuid,
            title: z.string(),
            started_at: dateTime,
            folder_id: uuid.nullable(),
            seq: z.int().nonnegative(),
            speaker: z.object({ label: z.string(), name: z.string().nullable() }),
            start_ms: z.int().describe('Of the sentence that shares most with the question; `seq` is its utterance'),
            end_ms: z.int(),
            passage: z
              .object({
                seq: z.int().nonnegative(),
                to_seq: z.int().nonnegative(),
                start_ms: z.int(),
                end_ms: z.int(),
              })
              .describe('The utterances that were found together'),
            snippet: z.string(),
            highlights: z.array(z.array(z.int()).length(2)).describe('Parts of `snippet`, in UTF-16 units'),
            score: z.number(),
            matched: z.array(z.enum(['words', 'name', 'meaning'])),
          }),
        ),
        mode: z.string(),
        took_ms: z.int(),
        degraded: z.array(z.literal('semantic')),
        ...nextCursor,
      }),
    ),
  }),
  ask: route({
    method: 'POST',
    path: '/v1/transcripts/ask',
    summary: 'Ask a question across recordings',
    auth: 'key',
    metered: true,
    idempotent: true,
    // A model is paid for its answer: a scope that reads pays nothing.
    scopes: ['transcripts'],
    takes: json(
      z.object({
        question: text(2_000).refine((value) => value.trim() !== '', 'must not be blank'),
        transcript_ids: z.array(uuid).min(1).max(200).optional(),
        folder_id: uuid.optional(),
        tag: text(64).min(1).optional(),
        from: from.optional(),
        to: to.optional(),
      }),
    ),
    answers: json(
      z.object({
        answer: z.string().describe('With `[n]` where a citation carries it'),
        citations: z.array(
          z.object({
            n: z.int().positive(),
            transcript_id: uuid,
            title: z.string(),
            seq: z.int().nonnegative(),
            speaker: z.string(),
            speaker_name: z.string().nullable(),
            start_ms: z.int(),
            end_ms: z.int(),
            quote: z.string().describe('Stands in that utterance as it is'),
          }),
        ),
        transcripts_searched: z.int().nonnegative(),
        model: z.string().describe('`extractive`: no model answered, and the answer is the passages themselves'),
        took_ms: z.int(),
        degraded: z.array(z.enum(['semantic', 'insights'])),
      }),
    ),
    errors: ['not_found'],
  }),
  words: route({
    method: 'GET',
    path: '/v1/transcripts/{id}/words',
    summary: 'Utterances of a span of time, with their words',
    auth: 'key',
    params: byId,
    query: z.object({
      from_ms: queryMs.default(0),
      to_ms: queryMs.optional().describe('Default: ten minutes later'),
      cursor: text(200).min(1).optional().describe('With the same span; a page has 20,000 words, or 4 MiB'),
    }),
    answers: json(z.object({ utterances: z.array(utterance), ...nextCursor })),
    errors: ['not_found'],
  }),
  export: route({
    method: 'GET',
    path: '/v1/transcripts/{id}/export',
    summary: 'The transcript as a file',
    auth: 'key',
    params: byId,
    query: z.object({ format: z.enum(exportFormats).default('md') }),
    answers: bytes(0, '*/*'),
    errors: ['not_found', 'nothing_heard', 'unavailable'],
  }),
};
