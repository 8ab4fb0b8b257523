import type { PieceReading, Span } from './media.args.ts';
import type { Hearing } from './media.hearing.ts';

/**
 * A recording: its files in order, as they were cut, and how each of them is heard; a path alone is heard by its
 * first track.
 */
export type RecordingSource = string | { files: readonly string[]; hearing: Hearing };

/** A part of a recording that is joined with others, milliseconds. */
export interface Clip {
  source: RecordingSource;
  startMs: number;
  endMs: number;
}

/** A span of a file that is read in some way. */
export interface FileSpan extends Span {
  file: string;
  reading: PieceReading;
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

/**
 * The spans of files that a clip is made of; `gapMs` of silence stand after the last. What lies past the end is
 * silence too.
 */
export function spansOf({ source, startMs, endMs }: Clip, gapMs: number): FileSpan[] {
  const { files, hearing } =
    typeof source === 'string' ? { files: [source], hearing: [{ ms: endMs, tracks: [{ n: 0 }] }] } : source;
  const found: FileSpan[] = [];
  let at = 0;
  const last = hearing.findLastIndex(({ ms }) => ms > 0);
  for (const [n, { ms, tracks, isJumpy }] of hearing.entries()) {
    const from = at;
    at = n === last ? Infinity : at + ms;
    const [start, end] = [Math.max(startMs, from), Math.min(endMs, at)];
    const file = files[n];
    if (ms === 0 || start >= end || file === undefined) continue;
    found.push({ file, reading: { tracks, isSought: !isJumpy }, startMs: start - from, endMs: end - from, padMs: 0 });
  }
  const ends = found.at(-1);
  if (ends) ends.padMs = gapMs;
  return found;
}

/** Spans that follow each other and are of one file, as many as one program cuts. */
export function batchesOf(spans: readonly FileSpan[]): FileSpan[][] {
  const batches: FileSpan[][] = [];
  for (const span of spans) {
    const last = batches.at(-1);
    const isSame = last?.[0]?.file === span.file && isEqual(last[0].reading, span.reading);
    if (last && isSame && last.length < atOnce) last.push(span);
    else batches.push([span]);
  }
  return batches;
}

const isEqual = (a: PieceReading, b: PieceReading): boolean => JSON.stringify(a) === JSON.stringify(b);
