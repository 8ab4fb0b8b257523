import type { bookmark, speaker, transcript, transcriptSummary, utterance } from '@svc/contract';
import type { AssembledWord } from '@svc/speech';
import { wordsOf } from '@svc/words';
import type { z } from 'zod';
import { mostTries } from './transcripts.moves.ts';
import type {
  BookmarkRow,
  SpeakerRow,
  StepRow,
  StoredInsights,
  TrackRow,
  TranscriptRow,
  UtteranceRow,
} from './transcripts.rows.ts';

/** What stands beside the row of a transcript. */
export interface Beside {
  speakers: readonly SpeakerRow[];
  tracks: readonly TrackRow[];
  /** The step that is under way or waits. */
  step: StepRow | undefined;
}

/** The title of a transcript: a person's, that of its insights, or its day. */
export const titleOf = (row: Pick<TranscriptRow, 'title' | 'insights' | 'started_at' | 'locale'>): string =>
  row.title ?? (row.insights?.title || wordsOf(row.locale ?? 'en').titles.recording(row.started_at.slice(0, 10)));

/** Its language: as it was set, or as it was heard. */
export const languageOfRow = ({ language, heard_language: heard }: TranscriptRow): string | null => language ?? heard;

/** A transcript without what was said. */
export function toSummary(row: TranscriptRow, { speakers, tracks, step }: Beside): z.input<typeof transcriptSummary> {
  const next = step?.state === 'waiting' && step.tries > 0 ? step.due_at : null;
  const isUnderWay = step !== undefined && row.state !== 'recording' && row.state !== 'failed';
  const tried = { attempts: step?.tries ?? 0, max_attempts: mostTries, last_error: step?.last_error ?? row.error };
  return {
    id: row.id,
    client_id: row.client_id,
    source: row.source,
    title: titleOf(row),
    language: languageOfRow(row),
    status: row.state,
    processing: isUnderWay ? { ...tried, step: step.kind, last_error: step.last_error, next_attempt_at: next } : null,
    started_at: row.started_at,
    duration_ms: row.duration_ms,
    created_at: row.created_at,
    updated_at: row.updated_at,
    error: row.error,
    ...tried,
    next_attempt_at: next,
    audio_purged_at: row.audio_purged_at,
    audio_expires_at: row.audio_expires_at,
    tracks: tracks.map(({ track, bytes, duration_ms }) => ({ track, bytes, duration_ms })),
    folder_id: row.folder_id,
    tags: row.tags,
    pinned_at: row.pinned_at,
    consent: row.consent,
    degraded: [...row.degraded] as z.input<typeof transcriptSummary>['degraded'],
    edits_lost: row.edits_lost,
    speakers: speakers.map(toSpeaker),
  };
}

/** A transcript with what was said. */
export function toTranscript(
  row: TranscriptRow,
  beside: Beside & {
    utterances: z.input<typeof utterance>[];
    bookmarks: readonly BookmarkRow[];
  },
): z.input<typeof transcript> {
  return {
    ...toSummary(row, beside),
    utterances: beside.utterances,
    bookmarks: beside.bookmarks.map(toBookmark),
    insights: toInsights(row.insights, row.insights_stale),
    preview_text: row.preview_text,
  };
}

const toInsights = (stored: StoredInsights | null, stale: boolean) => (stored === null ? null : { ...stored, stale });

/** An utterance; without words where a person wrote its text. */
export function toUtterance(
  row: Omit<UtteranceRow, 'heard_speaker'>,
  words: readonly AssembledWord[] | undefined,
): z.input<typeof utterance> {
  const { seq, speaker, track, start_ms, end_ms, text, original_text, edited_at, confidence, language } = row;
  return {
    seq,
    speaker,
    track,
    start_ms,
    end_ms,
    text,
    original_text,
    edited_at,
    confidence,
    language,
    ...(words &&
      edited_at === null && {
        words: words.map(({ text: word, startMs, endMs, confidence: sure, estimated }) => ({
          text: word,
          start_ms: startMs,
          end_ms: endMs,
          confidence: sure,
          ...(estimated && { estimated: true as const }),
        })),
      }),
  };
}

/** Utterances with their words, one in a step. */
export function* toUtterances(
  rows: readonly UtteranceRow[],
  words: ReadonlyMap<number, readonly AssembledWord[]>,
): Generator<void, z.input<typeof utterance>[]> {
  const all: z.input<typeof utterance>[] = [];
  for (const row of rows) {
    all.push(toUtterance(row, words.get(row.seq)));
    yield;
  }
  return all;
}

/** A voice. */
export const toSpeaker = ({ label, name, is_self, talk_ms, utterance_count }: SpeakerRow): z.input<typeof speaker> => ({
  label,
  name,
  is_self,
  talk_ms,
  utterance_count,
});

/** A mark. */
export const toBookmark = ({ id, at_ms, note, created_at }: BookmarkRow): z.input<typeof bookmark> => ({
  id,
  at_ms,
  note,
  created_at,
});
