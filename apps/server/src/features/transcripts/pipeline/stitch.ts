import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { namesOf } from '@svc/insights';
import { type Assembled, estimateWords, type Heard, type TrackHeard, type Window } from '@svc/speech';
import type { Hearing } from '../../media/index.ts';
import { vocabularyOf } from '../library/vocabulary.sql.ts';
import { chargeMinutes, releaseMinutes } from '../library/allowance.ts';
import type { TranscriptPool } from '../work/pool.ts';
import type { StepRow, Track, TranscriptRow } from '../transcripts.rows.ts';
import {
  recountSpeakers,
  replaceNames,
  replaceSpeakers,
  replaceUtterances,
  replaceWords,
  speakersOf,
  toHeard,
  utterancesOf,
} from '../text/text.sql.ts';
import { packWords } from '../text/words.ts';
import { keepEdits, keepNames } from './edits.ts';
import { hearRoll } from './roll.ts';
import type { PipelineParts, WindowGiven } from './prepare.ts';
import type { StepWork } from './runner.ts';
import type { Held } from './settle.ts';
import { deleteOtherSteps, resultsOf, stepsOf } from './steps.sql.ts';
import { type KeptWindow, recordHeard } from './window.ts';
import type { Voices } from './voices.ts';

const unpacked = promisify(gunzip);
const mostHeardBytes = 64 * 1024 * 1024;

/** Puts together what was heard in the windows: utterances, words, speakers. */
export const stitch =
  (parts: PipelineParts, pool: TranscriptPool, voices: Voices): StepWork =>
  async (step, signal) => {
    const { kernel, transcripts, settling } = parts;
    const row = await transcripts.get(kernel.background, step.account_id, step.transcript_id);
    const { tracks, hearings, lacks } = await tracksHeard(parts, step, voices);
    const isPreview = tracks.length === 0;
    const roll = isPreview ? undefined : await hearRoll(parts, row, { tracks, hearings }, signal);
    const recording = {
      durationMs: row.duration_ms ?? 0,
      tracks: isPreview ? previewOf(row) : tracks,
      vocabulary: (await vocabularyOf(kernel.background, row.account_id)).entries,
      language: row.language,
      ...(roll && { roll }),
    };
    const assembled = await pool.do(row.account_id, { kind: 'assemble', recording }, signal);
    const words = await packWords(assembled.utterances);
    const missing = missingOf(await stepsOf(kernel.background, row.id, step.generation));
    const isKept = await settling.with(step, async (held) => {
      await settling.move(held, 'finish', { result: null, costMicroUsd: roll?.heard.costMicroUsd ?? 0 });
      if (roll) await recordHeard(held, roll.heard, roll.ms);
      const editsLost = await write(held, assembled, words);
      await deleteOtherSteps(held.tx, row.id, step.generation);
      if (isPreview) await releaseMinutes(held.tx, row.id);
      else await chargeMinutes(held.tx, kernel.clock, row.id);
      const bytes = sizeOf(assembled) + words.reduce((sum, { packed }) => sum + packed.length, 0);
      const { language } = assembled;
      const degraded = [...(isPreview ? ['transcription'] : []), ...lacks];
      const heard = { language, degraded, editsLost, bytes };
      if (missing === undefined) {
        await transcripts.move(held.tx, held.now, held.row, 'hear', heard);
        return settling.plan(held, [{ kind: 'insights' }, { kind: 'vectors' }]);
      }
      // What was heard is kept; the error says what is missing.
      const changed = await transcripts.change(held.tx, held.row, {
        heard_language: language,
        edits_lost: editsLost,
        bytes,
      });
      await settling.fail({ ...held, row: changed }, missing);
    });
    if (isKept !== undefined) voices.forget(row.id);
  };

/**
 * What was heard, by track; how each was heard; and what was not: tracks, sound, or times that are none of a
 * provider's.
 */
async function tracksHeard(
  { kernel }: PipelineParts,
  step: StepRow,
  voices: Voices,
): Promise<{ tracks: TrackHeard[]; hearings: Map<Track, Hearing>; lacks: Set<string> }> {
  const rows = await resultsOf(kernel.background, step.transcript_id, step.generation, 'window');
  const tracks = new Map<Track, TrackHeard>();
  const hearings = new Map<Track, Hearing>();
  const lacks = new Set<string>();
  for (const { track, n, given, result } of rows) {
    const { window, hearing, lacks: own = [] } = given as WindowGiven;
    const text = (await unpacked(result, { maxOutputLength: mostHeardBytes })).toString();
    const embeddings = voices.of({ ...step, track, n });
    const { isSpread, ...kept } = JSON.parse(text) as KeptWindow;
    if (isSpread) lacks.add('times');
    for (const lack of own) lacks.add(lack);
    if (hearing) hearings.set(track as Track, hearing);
    const heard: Heard = { ...kept, ...(embeddings && { embeddings }) };
    const one = tracks.get(track as Track) ?? { track: track as Track, windows: [] };
    one.windows.push({ window, heard });
    tracks.set(one.track, one);
  }
  return { tracks: [...tracks.values()], hearings, lacks };
}

/** The captions of the client as one window: who speaks and when is not known. */
function previewOf({ preview_text: text, duration_ms: durationMs }: TranscriptRow): TrackHeard[] {
  const endMs = durationMs ?? 0;
  const window = { n: 0, startMs: 0, endMs, fromMs: 0, toMs: endMs };
  return [{ track: 'mixed', windows: [{ window, heard: { words: estimateWords(text ?? '', 0, endMs) } }] }];
}

/** Replaces what a transcript had; answers how many corrections were lost. */
async function write(
  { tx, row }: Held,
  assembled: Assembled,
  words: readonly { minute: number; packed: Buffer }[],
): Promise<number> {
  const before = await utterancesOf(tx, row.id);
  const named = await speakersOf(tx, [row.id]);
  const { utterances, lost } = keepEdits(before, assembled.utterances);
  await replaceUtterances(tx, row, utterances);
  await replaceWords(tx, row, words);
  await replaceSpeakers(tx, row, keepNames(named, before, assembled.utterances, assembled.speakers));
  await recountSpeakers(tx, row.id);
  await replaceNames(tx, row, namesOf(utterances.map(toHeard)));
  return lost;
}

const sizeOf = ({ utterances }: Assembled): number =>
  utterances.reduce((sum, { text, originalText }) => sum + text.length + (originalText?.length ?? 0) + 100, 0);

/** The minutes of windows that were given up; undefined when there are none. */
function missingOf(steps: readonly StepRow[]): string | undefined {
  const failed = steps.filter(({ kind, state }) => kind === 'window' && state === 'failed');
  const [first] = failed;
  if (!first) return undefined;
  const spans = failed.map(({ given, track }) => {
    const { window } = given as { window: Window };
    return `${minuteOf(window.startMs)} to ${minuteOf(window.endMs)} (${track})`;
  });
  return `not transcribed: ${spans.join(', ')}; retranscribe tries them again. ${first.last_error ?? ''}`.trim();
}

const minuteOf = (ms: number): string => {
  const seconds = Math.round(ms / 1000);
  return [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60]
    .map((part) => String(part).padStart(2, '0'))
    .join(':');
};
