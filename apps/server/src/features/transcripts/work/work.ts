import { leadOf, toSharePage, toSrt, toVtt, type SharedDocument, type TranscriptDocument } from '@svc/documents';
import { extractInsights, type Insights, readInsights, type Recording } from '@svc/insights';
import { assemble, type Assembled, cuesOf } from '@svc/speech';
import type { transcript } from '@svc/contract';
import type { z } from 'zod';
import { unpackWords } from '../text/words.ts';
import { toUtterance } from '../transcripts.view.ts';

type Assembling = Parameters<typeof assemble>[0];

/** The words of a transcript as they are stored: unpacked, they are ten times as large. */
type Packed = readonly { readonly minute: number; readonly packed: Uint8Array }[];

/** A transcript as subtitles show it. An utterance that a person wrote has no words with times. */
interface Subtitled {
  readonly utterances: readonly {
    readonly seq: number;
    readonly speaker: string;
    readonly startMs: number;
    readonly endMs: number;
    readonly text: string;
    readonly isEdited: boolean;
  }[];
  readonly words: Packed;
  /** What speakers are called, by label. */
  readonly names: ReadonlyMap<string, string>;
}

/** Work that would hold the event loop for up to some seconds with three hours of speech. */
export type TranscriptWork =
  | { readonly kind: 'assemble'; readonly recording: Assembling }
  | { readonly kind: 'extract'; readonly recording: Recording }
  | { readonly kind: 'read'; readonly answer: string; readonly recording: Recording }
  | { readonly kind: 'pdf' | 'docx'; readonly document: TranscriptDocument }
  | { readonly kind: 'srt'; readonly subtitled: Subtitled }
  | { readonly kind: 'vtt'; readonly subtitled: Subtitled }
  | { readonly kind: 'json'; readonly transcript: z.input<typeof transcript>; readonly words: Packed }
  | { readonly kind: 'page'; readonly document: SharedDocument };

/** The result of each kind of work. */
export interface WorkResults {
  readonly assemble: Assembled;
  readonly extract: Insights;
  readonly read: ReturnType<typeof readInsights>;
  readonly pdf: Uint8Array;
  readonly docx: Uint8Array;
  readonly srt: Uint8Array;
  readonly vtt: Uint8Array;
  readonly json: Uint8Array;
  readonly page: string;
}

/** Does the work; runs in a worker, which is ended when it takes too long or too much memory. */
export async function doWork(work: TranscriptWork): Promise<WorkResults[keyof WorkResults]> {
  if (work.kind === 'assemble') return assemble(work.recording);
  if (work.kind === 'extract') return extractInsights(work.recording);
  if (work.kind === 'read') return readInsights(work.answer, work.recording);
  if (work.kind === 'page') return toSharePage(work.document);
  if (work.kind === 'json') return Buffer.from(await toJson(work.transcript, work.words));
  if (work.kind === 'srt' || work.kind === 'vtt') return Buffer.from(await toSubtitles(work.kind, work.subtitled));
  // Their libraries are half of what a worker would load.
  const { toDocx, toPdf } = await import('@svc/documents/files');
  return work.kind === 'pdf' ? toPdf(work.document) : toDocx(work.document);
}

async function toSubtitles(format: 'srt' | 'vtt', { utterances, words, names }: Subtitled): Promise<string> {
  const all = await unpackWords(words);
  const nameOf = (label: string): string => names.get(label) ?? label;
  const said = utterances.map(({ seq, isEdited, ...one }) => {
    const own = isEdited ? undefined : all.get(seq);
    return { ...one, ...(own && { words: own }) };
  });
  // WebVTT names the speaker where a player shows it, or does not: beside the lines.
  const cues = format === 'srt' ? cuesOf(said, (label) => leadOf(nameOf(label))) : cuesOf(said);
  return format === 'srt' ? toSrt(cues, nameOf) : toVtt(cues, nameOf);
}

/** The record with its words. */
async function toJson(record: z.input<typeof transcript>, packed: Packed): Promise<string> {
  const words = await unpackWords(packed);
  const utterances = record.utterances.map((one) => toUtterance(one, words.get(one.seq)));
  return JSON.stringify({ transcript: { ...record, utterances } }, undefined, 2);
}
