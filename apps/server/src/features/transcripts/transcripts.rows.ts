import type { insights, tracks, transcriptSteps } from '@svc/contract';
import type { z } from 'zod';
import type { StepState, TranscriptState } from './transcripts.states.ts';

export type Track = (typeof tracks)[number];
export type StepKind = (typeof transcriptSteps)[number];
/** Insights as they are stored: `stale` is a column. */
export type StoredInsights = Omit<z.input<typeof insights>, 'stale'>;

/** A transcript as it is stored. */
export interface TranscriptRow {
  id: string;
  account_id: string;
  client_id: string | null;
  source: string;
  title: string | null;
  /** Of the title of one without a title; null: of before, in English. */
  locale: 'en' | 'ro' | null;
  language: string | null;
  heard_language: string | null;
  state: TranscriptState;
  generation: number;
  started_at: string;
  duration_ms: number | null;
  created_at: string;
  updated_at: string;
  error: string | null;
  consent: string | null;
  folder_id: string | null;
  tags: string[];
  pinned_at: string | null;
  preview_text: string | null;
  finalize_hash: Buffer | null;
  finalized_at: string | null;
  key_id: string | null;
  audio_expires_at: string | null;
  audio_purged_at: string | null;
  degraded: readonly string[];
  edits_lost: number;
  insights: StoredInsights | null;
  insights_stale: boolean;
  cost_micro_usd: number;
  bytes: number;
}

/** Columns that change. */
export type TranscriptChange = Partial<Omit<TranscriptRow, 'id' | 'account_id' | 'insights'>> & {
  insights?: object | null;
};

/** A track of a recording, whose audio is there or was. */
export interface TrackRow {
  track: Track;
  upload_id: string;
  bytes: number;
  content_type: string;
  duration_ms: number;
  is_joined: boolean;
}

/** A step of the processing. */
export interface StepRow {
  id: string;
  transcript_id: string;
  account_id: string;
  generation: number;
  kind: StepKind;
  track: Track | null;
  n: number;
  given: object | null;
  state: StepState;
  attempt: number;
  tries: number;
  due_at: string;
  lease_until: string | null;
  gateway_id: string | null;
  last_error: string | null;
  cost_micro_usd: number;
}

/** Columns that change. */
export type StepChange = Partial<
  Omit<StepRow, 'id' | 'transcript_id' | 'account_id' | 'generation' | 'kind' | 'track' | 'n' | 'given'>
> & { result?: Buffer | null; finished_at?: string | null };

/** What one speaker says without a break, as it is stored. */
export interface UtteranceRow {
  seq: number;
  speaker: string;
  /** Who was heard, where a person says that it was somebody else. */
  heard_speaker: string | null;
  track: Track;
  start_ms: number;
  end_ms: number;
  text: string;
  original_text: string | null;
  edited_at: string | null;
  confidence: number | null;
  language: string | null;
}

/** A voice of a recording. */
export interface SpeakerRow {
  label: string;
  name: string | null;
  is_self: boolean;
  talk_ms: number;
  utterance_count: number;
}

/** A moment that somebody marked. */
export interface BookmarkRow {
  id: string;
  at_ms: number;
  note: string | null;
  created_at: string;
}
