import type { z } from 'zod';
import type { folder, speaker, transcript, transcriptSummary, utterance } from '../transcripts.shapes.ts';
import { samples } from './samples.ts';

const at = '2026-11-02T09:00:00.000Z';

/** The one who speaks in the example. */
export const exampleSpeaker: z.output<typeof speaker> = {
  label: 'S1',
  name: null,
  is_self: false,
  talk_ms: 9_000,
  utterance_count: 1,
};

/** What is said in the example. */
export const exampleUtterance: z.output<typeof utterance> = {
  seq: 0,
  speaker: 'S1',
  track: 'mixed',
  start_ms: 0,
  end_ms: 9_000,
  text: 'Ana sends the draft on Friday.',
  original_text: null,
  edited_at: null,
  confidence: null,
  language: null,
};

/** A word of a caption, whose time is not known. */
export const exampleWord = { text: 'Ana', start_ms: 0, end_ms: 1_161, confidence: null, estimated: true as const };

/** A step that is due. */
export const exampleStep = {
  step: 'prepare' as const,
  attempts: 0,
  max_attempts: 5,
  last_error: null,
  next_attempt_at: null,
};

const summary: z.output<typeof transcriptSummary> = {
  id: samples.transcript,
  client_id: 'standup-2026-11-02',
  source: 'desktop',
  title: 'Standup',
  language: 'en',
  status: 'ready',
  processing: null,
  started_at: at,
  duration_ms: 9_000,
  created_at: at,
  updated_at: at,
  error: null,
  attempts: 0,
  max_attempts: 5,
  last_error: null,
  next_attempt_at: null,
  audio_purged_at: null,
  audio_expires_at: '2026-12-02T09:00:00.000Z',
  tracks: [{ track: 'mixed', bytes: 288_044, duration_ms: 9_000 }],
  folder_id: null,
  tags: ['team'],
  pinned_at: null,
  consent: null,
  degraded: ['transcription', 'insights'],
  edits_lost: 0,
  speakers: [exampleSpeaker],
};

/** As lists have it. */
export const exampleSummary = summary;

/** The whole record. */
export const exampleTranscript: z.output<typeof transcript> = {
  ...summary,
  utterances: [exampleUtterance],
  bookmarks: [],
  insights: {
    language: 'en',
    title: 'Draft',
    summary: 'Ana sends the draft on Friday.',
    key_points: [
      {
        text: 'Ana sends the draft on Friday.',
        citations: [{ seq: 0, speaker: 'S1', start_ms: 0, end_ms: 9_000, quote: 'Ana sends the draft on Friday.' }],
      },
    ],
    actions: [],
    decisions: [],
    open_questions: [],
    prompts: [],
    model: 'extractive',
    generated_at: at,
    stale: false,
    dropped: 0,
  },
  preview_text: 'Ana sends the draft on Friday.',
};

/** A recording that is under way. */
export const exampleRecording: z.output<typeof transcript> = {
  ...exampleTranscript,
  id: samples.recording,
  client_id: 'standup-2026-11-03',
  status: 'recording',
  duration_ms: null,
  audio_expires_at: null,
  tracks: [],
  degraded: [],
  speakers: [],
  utterances: [],
  insights: null,
  preview_text: null,
};

/** The same, handed in. */
export const exampleQueued: z.output<typeof transcript> = {
  ...exampleRecording,
  status: 'queued',
  processing: exampleStep,
  duration_ms: 9_000,
  audio_expires_at: '2026-12-02T09:00:00.000Z',
  tracks: summary.tracks,
  preview_text: 'Ana sends the draft on Friday.',
};

/** A folder. */
export const exampleFolder: z.output<typeof folder> = {
  id: samples.folder,
  name: 'Customers',
  color: '#2563eb',
  parent_id: null,
  position: 0,
  transcript_count: 0,
  created_at: at,
  updated_at: at,
};
