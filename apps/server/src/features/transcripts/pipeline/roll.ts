import { planRoll, type RollClip, type TrackHeard } from '@svc/speech';
import type { Hearing, RecordingSource } from '../../media/index.ts';
import type { SpeechHeard } from '../../speech/index.ts';
import type { Track, TranscriptRow } from '../transcripts.rows.ts';
import { languageOfRow } from '../transcripts.view.ts';
import type { PipelineParts } from './prepare.ts';
import { sourceOf } from './trackFiles.ts';

/** Silence after each clip, as `planRoll` counts it. */
const gapMs = 500;

/** The clips of a recording's speakers and what a provider heard in them. */
interface Roll {
  clips: RollClip[];
  heard: SpeechHeard;
  /** How long cutting and hearing took, ms. */
  ms: number;
}

/**
 * Has clips of speakers heard in one piece, whose labels join them over windows. Undefined when all is certain without, and when
 * no provider hears it: a speaker who was silent at a cut has a label of each window then.
 */
export async function hearRoll(
  parts: PipelineParts,
  row: TranscriptRow,
  { tracks, hearings }: { tracks: readonly TrackHeard[]; hearings: ReadonlyMap<Track, Hearing> },
  signal: AbortSignal,
): Promise<Roll | undefined> {
  const clips = planRoll({ durationMs: row.duration_ms ?? 0, tracks });
  if (clips.length === 0 || row.audio_purged_at !== null) return undefined;
  try {
    const names = [...new Set(clips.map(({ track }) => track))];
    const started = parts.kernel.clock.monotonic();
    const heard = await withSources({ parts, row, hearings }, names, (sources) =>
      hearClips(parts, row, { clips, sources }, signal),
    );
    return { clips, heard, ms: parts.kernel.clock.monotonic() - started };
  } catch (error) {
    signal.throwIfAborted();
    parts.kernel.log.info({ err: error, transcript: row.id }, 'speakers were joined without their clips');
    return undefined;
  }
}

/** Runs `work` with some tracks as they are heard. */
async function withSources<T>(
  of: { parts: PipelineParts; row: TranscriptRow; hearings: ReadonlyMap<Track, Hearing> },
  [track, ...others]: readonly Track[],
  work: (sources: ReadonlyMap<Track, RecordingSource>) => Promise<T>,
): Promise<T> {
  if (track === undefined) return work(new Map());
  const { parts, row, hearings } = of;
  return parts.files.use(row.account_id, row.id, track, (pieces) =>
    withSources(of, others, (sources) => work(new Map([...sources, [track, sourceOf(pieces, hearings.get(track))]]))),
  );
}

async function hearClips(
  { media, speech }: PipelineParts,
  row: TranscriptRow,
  { clips, sources }: { clips: readonly RollClip[]; sources: ReadonlyMap<Track, RecordingSource> },
  signal: AbortSignal,
): Promise<SpeechHeard> {
  await using scratch = await media.scratch();
  const spans = clips.map(({ track, startMs, endMs }) => ({
    source: sources.get(track) as RecordingSource,
    startMs,
    endMs,
  }));
  const part = await media.clips(spans, gapMs, scratch, signal);
  const durationMs = spans.reduce((sum, { startMs, endMs }) => sum + endMs - startMs + gapMs, 0);
  const language = languageOfRow(row) ?? undefined;
  return await speech.hear({ ...part, durationMs, terms: [], ...(language && { language }) }, signal);
}
