import { Readable } from 'node:stream';
import { isQuiet, planWindows, type Window } from '@svc/speech';
import type { Hearing, MediaFiles, MediaLack } from '../../media/index.ts';
import type { SpeechProviders } from '../../speech/index.ts';
import type { Uploads } from '../../uploads/index.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import type { StepRow, Track, TrackRow } from '../transcripts.rows.ts';
import { markJoined, tracksOf } from '../transcripts.sql.ts';
import type { Transcripts } from '../transcripts.store.ts';
import type { StepWork } from './runner.ts';
import type { Settling } from './settle.ts';
import { audioBlob, type TrackFiles } from './trackFiles.ts';

/** What the steps of the pipeline work with. */
export interface PipelineParts {
  kernel: Kernel;
  transcripts: Transcripts;
  settling: Settling;
  uploads: Uploads;
  media: MediaFiles;
  files: TrackFiles;
  speech: SpeechProviders;
}

/** Joins the pieces of each track, measures it, finds its silences, and plans the windows that are cut from it. */
export const prepare =
  (parts: PipelineParts): StepWork =>
  async (step, signal) => {
    const { kernel, transcripts, settling, speech } = parts;
    const begun = await settling.with(step, ({ tx, now, row }) => transcripts.move(tx, now, row, 'begin', {}));
    if (!begun) return;
    const tracks = await tracksOf(kernel.background, [step.transcript_id]);
    for (const track of tracks) await join(parts, step, track, signal);
    const isPreview = speech.isEmpty && (begun.preview_text ?? '').trim() !== '';
    const windows = isPreview ? [] : await windowsOf(parts, step, tracks, signal);
    await settling.with(step, async (held) => {
      await settling.move(held, 'finish', { result: null, costMicroUsd: 0 });
      // Nothing transcribes here: the captions of the client stand for it.
      await settling.plan(held, windows.length === 0 ? [{ kind: 'stitch' }] : windows);
    });
  };

/** Makes one blob of an upload's pieces. A second time it does nothing, but for pieces that a kill left. */
async function join(parts: PipelineParts, step: StepRow, track: TrackRow, signal: AbortSignal): Promise<void> {
  const { kernel, settling, uploads } = parts;
  const { account_id: accountId, transcript_id: id } = step;
  if (!track.is_joined) {
    const blob = audioBlob(accountId, id, track.track);
    const body = Readable.from(uploads.read({ id: track.upload_id, account_id: accountId }), {
      objectMode: false,
      signal,
    });
    await kernel.blobs.put(blob, body);
    const isOurs = await settling.with(step, ({ tx }) => markJoined(tx, id, track.track));
    // Deleted meanwhile: nothing of it may come back.
    if (isOurs === undefined && !(await transcriptIsThere(parts, step))) await kernel.blobs.delete(blob);
    signal.throwIfAborted();
  }
  await uploads.dropBytes(accountId, track.upload_id);
}

const transcriptIsThere = ({ kernel, transcripts }: PipelineParts, step: StepRow): Promise<boolean> =>
  transcripts.get(kernel.background, step.account_id, step.transcript_id).then(
    () => true,
    () => false,
  );

/** What a window is asked: windows that were planned by a release before have the first three only. */
export interface WindowGiven {
  window: Window;
  isQuiet?: boolean;
  /** How its track is heard. */
  hearing?: Hearing;
  /** What of its recording is not heard. */
  lacks?: readonly MediaLack[];
}

/** So much less than the device says that it recorded is no loss: it stops its clock a little later than its sound. */
const late = { ms: 2_000, share: 0.01 };

async function windowsOf(
  { media, files }: PipelineParts,
  step: StepRow,
  tracks: readonly TrackRow[],
  signal: AbortSignal,
) {
  const planned: { kind: 'window'; track: Track; n: number; given: WindowGiven }[] = [];
  const lacks = new Set<MediaLack>();
  const { recordedMs = 0 } = (step.given ?? {}) as { recordedMs?: number };
  for (const { track } of tracks) {
    const { durationMs, silences, hearing, ...heard } = await files.use(
      step.account_id,
      step.transcript_id,
      track,
      async ({ files: pieces, isWhole }) => ({ ...(await media.hear(pieces, signal)), isWhole }),
    );
    for (const lack of heard.lacks) lacks.add(lack);
    if (!heard.isWhole) lacks.add('sound');
    // Each by itself: beside one that is whole, nobody would miss the half of another.
    if (durationMs + Math.max(late.ms, recordedMs * late.share) < recordedMs) lacks.add('sound');
    for (const window of planWindows(durationMs, silences)) {
      const given = { window, isQuiet: isQuiet(window, silences, durationMs), hearing };
      planned.push({ kind: 'window', track, n: window.n, given });
    }
  }
  return planned.map((one) => ({ ...one, given: { ...one.given, lacks: [...lacks] } }));
}
