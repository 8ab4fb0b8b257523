import type { ClipSpan } from './media.rules.ts';

/** A part of a file that is joined with others. */
export interface Clip extends ClipSpan {
  file: string;
}

/** Clips, the longest of them, the longest silence after one, and all together with their silences, milliseconds. */
const mostClips = 1_000;
const longestClipMs = 60_000;
const longestGapMs = 5_000;
const longestJoinedMs = 900_000;
/** Clips that one program cuts: each is an input of its own, with a demuxer and a decoder. */
const atOnce = 8;
/** Bytes of a millisecond of samples. */
export const bytesAMs = 32;

/** Length of clips and silences together. Throws `RangeError` for what is no list of clips, or too long. */
export function joinedMs(clips: readonly Clip[], gapMs: number): number {
  const isTime = (ms: number, most: number): boolean => Number.isSafeInteger(ms) && ms >= 0 && ms <= most;
  if (clips.length === 0 || clips.length > mostClips || !isTime(gapMs, longestGapMs)) {
    throw new RangeError(`no clips that can be joined: ${clips.length} with ${gapMs} ms between them`);
  }
  let sum = 0;
  for (const { startMs, endMs } of clips) {
    if (!isTime(startMs, Number.MAX_SAFE_INTEGER) || !isTime(endMs - startMs, longestClipMs) || endMs === startMs) {
      throw new RangeError(`no clip of a recording: ${startMs} to ${endMs} ms`);
    }
    sum += endMs - startMs + gapMs;
  }
  if (sum > longestJoinedMs) throw new RangeError(`clips of ${sum} ms are too long together`);
  return sum;
}

/** Clips that follow each other and are of one file, as many as one program cuts. */
export function batchesOf(clips: readonly Clip[]): { file: string; spans: ClipSpan[] }[] {
  const batches: { file: string; spans: ClipSpan[] }[] = [];
  for (const { file, startMs, endMs } of clips) {
    const last = batches.at(-1);
    if (last?.file === file && last.spans.length < atOnce) last.spans.push({ startMs, endMs });
    else batches.push({ file, spans: [{ startMs, endMs }] });
  }
  return batches;
}
