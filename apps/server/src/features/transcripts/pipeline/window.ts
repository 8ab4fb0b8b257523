import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { type Heard, isHeaped, spreadWords } from '@svc/speech';
import { writeUsage } from '../../../kernel/records/usage.ts';
import { Share } from '../../../kernel/share/share.ts';
import { hearQuiet, NoProvider, type SpeechHeard } from '../../speech/index.ts';
import { vocabularyOf } from '../library/vocabulary.sql.ts';
import type { Track, TranscriptRow } from '../transcripts.rows.ts';
import { addCost } from '../transcripts.sql.ts';
import { languageOfRow } from '../transcripts.view.ts';
import type { PipelineParts, WindowGiven } from './prepare.ts';
import type { StepWork } from './runner.ts';
import { sourceOf } from './trackFiles.ts';
import type { Held } from './settle.ts';
import type { Voices } from './voices.ts';

const packed = promisify(gzip);
/** Parts that are cut at a time: one core is left for everything else. */
const encodings = { total: 2, ofOne: 1, waitingOfOne: 16 };

/** Cuts one window, has it heard, and keeps the words. */
export function hearWindow(parts: PipelineParts, voices: Voices): StepWork {
  const turns = new Share(encodings);
  const { kernel, transcripts, media, files, speech, settling } = parts;
  return async (step, signal) => {
    if (speech.isEmpty) throw new NoProvider();
    const started = kernel.clock.monotonic();
    const { window, isQuiet, hearing } = step.given as WindowGiven;
    const row = await transcripts.get(kernel.background, step.account_id, step.transcript_id);
    // After a failure windows are tried again without a preparation, which says that it goes on otherwise.
    if (row.state === 'queued')
      await settling.with(step, async ({ tx, now, row: locked }) => {
        if (locked.state === 'queued') await transcripts.move(tx, now, locked, 'begin', {});
      });
    const terms = (await vocabularyOf(kernel.background, row.account_id)).entries.map(({ term }) => term);
    await using scratch = await media.scratch();
    const part = await files.use(row.account_id, row.id, step.track as Track, (pieces) => {
      const source = sourceOf(pieces, hearing);
      return turns.run(row.account_id, () => media.part(source, window.fromMs, window.toMs, scratch, signal), signal);
    });
    const language = languageOfRow(row) ?? undefined;
    const durationMs = window.toMs - window.fromMs;
    const asked = { ...part, durationMs, terms, ...(language && { language }) };
    const heard = isQuiet ? await hearQuiet(speech, asked, signal) : await speech.hear(asked, signal);
    // No voice is stored: what joins speakers over windows stays in the memory of this process.
    const { embeddings, ...kept } = heard;
    if (embeddings) voices.keep(step, embeddings);
    const result = await packed(JSON.stringify(timed(kept, durationMs)));
    await settling.with(step, async (held) => {
      await settling.move(held, 'finish', { result, costMicroUsd: heard.costMicroUsd });
      await recordHeard(held, heard, kernel.clock.monotonic() - started);
      await settling.windowOver(held);
    });
  };
}

/** A second past the end of the audio is a rounding, more is not. */
const beyondMs = 1_000;

/** What is kept of a window. */
export interface KeptWindow extends Heard {
  /** The provider's times were not those of the audio: the words were spread over the window. */
  isSpread?: true;
}

/**
 * Spreads an answer over the audio if most of its words lie outside of it or in one place of it: its transcript would
 * stand in one heap.
 */
function timed(heard: Heard, durationMs: number): KeptWindow {
  const { words } = heard;
  const outside = words.filter(({ startMs }) => !(startMs >= -beyondMs && startMs <= durationMs + beyondMs));
  if (outside.length * 2 <= words.length && !isHeaped(heard, durationMs)) return heard;
  return { ...heard, words: spreadWords(words, durationMs), isSpread: true };
}

/** What it cost, in the transaction of its result: it is charged exactly as often as it counts. */
export async function recordHeard({ tx, now, row }: Held, heard: SpeechHeard, ms: number): Promise<void> {
  await addCost(tx, row.id, heard.costMicroUsd);
  await writeUsage(tx, [
    usageOf(row, { at: now.ms, route: 'transcripts.transcribe', costMicroUsd: heard.costMicroUsd, ms }),
  ]);
}

/** A usage record of work for a transcript. */
const usageOf = (
  row: TranscriptRow,
  { at, route, costMicroUsd, ms }: { at: number; route: string; costMicroUsd: number; ms: number },
) => ({
  at,
  accountId: row.account_id,
  keyId: row.key_id as string,
  deviceId: undefined,
  route,
  status: 200,
  bytes: 0,
  ms: Math.round(ms),
  costMicroUsd,
  traceId: row.id,
});
