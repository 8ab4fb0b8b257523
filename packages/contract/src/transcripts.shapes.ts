import { z } from 'zod';
import type { ErrorKind } from './errors.ts';
import { dateTime, text, uuid } from './fields.ts';

/** States of a transcript (document 1, States and transitions). */
export const transcriptStates = ['recording', 'queued', 'transcribing', 'analyzing', 'ready', 'failed'] as const;
/** Where the sound of a track comes from: the user's microphone, what the computer plays, or both in one. */
export const tracks = ['mic', 'system', 'mixed'] as const;
/** Steps of the processing, as `processing.step` names them. */
export const transcriptSteps = ['prepare', 'window', 'stitch', 'insights', 'vectors'] as const;
/** What of a transcript or an answer was not done. */
const lacks = ['transcription', 'sound', 'tracks', 'times', 'insights', 'semantic'] as const;
/** Formats of an export (document 1, Transcripts). */
export const exportFormats = ['md', 'txt', 'srt', 'vtt', 'json', 'pdf', 'docx'] as const;

/** Codes of transcripts' own (design: transcripts). */
export const transcriptErrors = {
  already_finalized: { status: 409, type: 'conflict_error' },
  not_finalized: { status: 409, type: 'conflict_error' },
  still_processing: { status: 409, type: 'conflict_error' },
  nothing_heard: { status: 409, type: 'conflict_error' },
  audio_purged: { status: 409, type: 'conflict_error' },
} as const satisfies Record<string, ErrorKind>;

const ms = z.int().nonnegative();
/** The longest recording in milliseconds (document 1, Limits). */
export const mostRecordingMs = 3 * 3_600_000;

const word = z.object({
  text: z.string(),
  start_ms: ms,
  end_ms: ms,
  confidence: z.number().nullable(),
  estimated: z.literal(true).optional().describe('The provider gave no times of words: it is spread over its sentence'),
});

/** What one speaker says without a break; addressed by `seq`. */
export const utterance = z
  .object({
    seq: z.int().nonnegative(),
    speaker: z.string().describe('Label of a speaker'),
    track: z.enum(tracks),
    start_ms: ms,
    end_ms: ms,
    text: z.string(),
    original_text: z.string().nullable().describe('As it was heard, where the vocabulary or a person changed it'),
    edited_at: dateTime.nullable(),
    confidence: z.number().nullable(),
    language: z.string().nullable(),
    words: z
      .array(word)
      .optional()
      .describe('Absent with `words=none`, in answers of writes to a transcript, and where a person wrote the text'),
  })
  .meta({ id: 'Utterance' });

/** A voice of a recording; addressed by `label`. */
export const speaker = z
  .object({
    label: z.string(),
    name: z.string().nullable(),
    is_self: z.boolean(),
    talk_ms: ms,
    utterance_count: z.int().nonnegative(),
  })
  .meta({ id: 'Speaker' });

/** A moment that somebody marked. */
export const bookmark = z
  .object({ id: uuid, at_ms: ms, note: z.string().nullable(), created_at: dateTime })
  .meta({ id: 'Bookmark' });

/** The words that carry a sentence. */
const citation = z
  .object({
    seq: z.int().nonnegative(),
    speaker: z.string(),
    start_ms: ms,
    end_ms: ms,
    quote: z.string().optional().describe('Stands in that utterance as it is'),
  })
  .meta({ id: 'Citation' });
const cited = z.object({ text: z.string(), citations: z.array(citation) });

/** What a recording comes to. Each sentence is carried by utterances. */
export const insights = z
  .object({
    language: z.string().nullable(),
    title: z.string(),
    summary: z.string(),
    key_points: z.array(cited),
    actions: z.array(cited.extend({ owner: z.string().nullable(), due: z.string().nullable() })),
    decisions: z.array(cited),
    open_questions: z.array(cited),
    prompts: z.array(
      z.object({
        index: z.int().nonnegative(),
        title: z.string(),
        prompt: z.string(),
        accepted_prompt_id: uuid.nullable(),
      }),
    ),
    model: z.string().describe('`extractive`: no model answered, so sentences of the recording stand for it'),
    generated_at: dateTime,
    stale: z.boolean().describe('An utterance was corrected since'),
    dropped: z.int().nonnegative().describe('Sentences that no utterance carries; they are left out'),
  })
  .meta({ id: 'Insights' });

const processing = z
  .object({
    step: z.enum(transcriptSteps),
    attempts: z.int().nonnegative(),
    max_attempts: z.int(),
    last_error: z.string().nullable(),
    next_attempt_at: dateTime.nullable(),
  })
  .describe('The step that is under way or waits for its next try');

/** A recording without what was said in it, as lists have it. */
export const transcriptSummary = z
  .object({
    id: uuid,
    client_id: z.string().nullable(),
    source: z.string(),
    title: z.string(),
    language: z.string().nullable(),
    status: z.enum(transcriptStates),
    processing: processing.nullable(),
    started_at: dateTime,
    duration_ms: ms.nullable(),
    created_at: dateTime,
    updated_at: dateTime,
    error: z.string().nullable(),
    attempts: z.int().nonnegative(),
    max_attempts: z.int(),
    last_error: z.string().nullable(),
    next_attempt_at: dateTime.nullable(),
    audio_purged_at: dateTime.nullable(),
    audio_expires_at: dateTime.nullable(),
    tracks: z.array(z.object({ track: z.enum(tracks), bytes: ms, duration_ms: ms.nullable() })),
    folder_id: uuid.nullable(),
    tags: z.array(z.string()),
    pinned_at: dateTime.nullable(),
    consent: z.string().nullable().describe('Who was told that this is recorded, when and how'),
    degraded: z
      .array(z.enum(lacks))
      .describe(
        'What was not done. `sound`: a part of the recording could not be heard; `tracks`: another sound track of its file was not',
      ),
    edits_lost: z.int().nonnegative().describe('Corrections that a new transcription did not find again'),
    speakers: z.array(speaker),
  })
  .meta({ id: 'TranscriptSummary' });

/** A recording and what was said in it (document 1, Transcript records). */
export const transcript = transcriptSummary
  .extend({
    utterances: z.array(utterance),
    bookmarks: z.array(bookmark),
    insights: insights.nullable(),
    preview_text: z.string().nullable(),
  })
  .meta({ id: 'Transcript' });

/** Fields that a person sets, at the creation and later. */
export const transcriptTerms = {
  title: text(300).refine((value) => value.trim() !== '', 'must not be blank'),
  language: z
    .string()
    .regex(/^[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8}){0,3}$/, 'must be a language tag such as ro or en-GB')
    .describe('Spoken; unset: the provider finds out'),
  folder_id: uuid,
  tags: z.array(text(64).refine((value) => value.trim() !== '', 'must not be blank')).max(20),
  consent: text(1_000),
};

/** A bookmark of a request. */
export const newBookmark = z.object({ at_ms: z.int().min(0).max(mostRecordingMs), note: text(1_000).optional() });

/** A share link (document 1, Transcripts). Its address is shown once. */
export const share = z
  .object({
    id: uuid,
    url: z.null(),
    createdAt: dateTime,
    expiresAt: dateTime.nullable(),
    lastViewedAt: dateTime.nullable(),
    views: z.int().nonnegative(),
  })
  .meta({ id: 'TranscriptShare' });

/** What everybody who has a link sees (document 1: never audio, never account-identifying data). */
export const publicTranscript = z
  .strictObject({
    title: z.string(),
    started_at: dateTime,
    duration_ms: ms.nullable(),
    language: z.string().nullable(),
    speakers: z.array(z.strictObject({ label: z.string(), name: z.string().nullable() })),
    utterances: z.array(
      z.strictObject({ seq: z.int(), speaker: z.string(), start_ms: ms, end_ms: ms, text: z.string() }),
    ),
    summary: z.string().nullable(),
    key_points: z.array(z.strictObject({ text: z.string() })),
    actions: z.array(z.strictObject({ text: z.string(), owner: z.string().nullable() })),
    expiresAt: dateTime.nullable(),
  })
  .meta({ id: 'PublicTranscript' });

/** A folder of transcripts. */
export const folder = z
  .object({
    id: uuid,
    name: z.string(),
    color: z.string().nullable(),
    parent_id: uuid.nullable(),
    position: z.int(),
    transcript_count: z.int().nonnegative(),
    created_at: dateTime,
    updated_at: dateTime,
  })
  .meta({ id: 'TranscriptFolder' });

/** A name or a word of the user's own trade, and how it is misheard. */
export const vocabularyEntry = z
  .object({
    term: text(100).refine((value) => value.trim() !== '', 'must not be blank'),
    sounds_like: z.array(text(100).min(1)).max(10).default([]),
    language: transcriptTerms.language.nullable().default(null),
    note: text(300).nullable().default(null),
  })
  .meta({ id: 'VocabularyEntry' });
