import type { Listing, SoundTrack } from './media.tracks.ts';

/** What a head says of its length is rounded by packets and pictures: so much less is no loss. */
const rounding = { ms: 300, share: 0.02 };

/** What ffmpeg counted of the one track that it decoded. */
interface Counts {
  packets: number;
  bytes: number;
  frames: number;
  samples: number;
}

/** What a pass said while it decoded. */
export interface Tally {
  /** Undefined: not told. */
  counts: Counts | undefined;
  /** Some of it could not be read: ffmpeg says so, goes on, and ends as if nothing were. */
  isDamaged: boolean;
}

/** A track as it was decoded; it begins `lateMs` later than its file. */
interface Decoded extends Tally {
  track: SoundTrack;
  durationMs: number;
  lateMs: number;
}

const counted =
  /: (\d+) packets read \((\d+) bytes\); (\d+) frames decoded(?:; \d+ decode errors)?(?: \((\d+) samples\))?/;

/** Takes one line of what ffmpeg says with the grade of each line. */
export function tally(to: Tally, line: string): void {
  if (/\[(?:error|fatal|panic)\]|\[warning\].*corrupt/i.test(line)) to.isDamaged = true;
  const [, packets, bytes, frames, samples] = counted.exec(line) ?? [];
  if (packets === undefined || (samples === undefined && packets !== '0')) return;
  to.counts = { packets: Number(packets), bytes: Number(bytes), frames: Number(frames), samples: Number(samples ?? 0) };
}

/** Whether so much less than the whole is more than what is rounded; milliseconds. */
export const isShort = (ms: number, wholeMs: number): boolean =>
  ms + Math.max(rounding.ms, wholeMs * rounding.share) < wholeMs;

const samplesMs = ({ track, counts }: Pick<Decoded, 'track' | 'counts'>): number =>
  ((counts?.samples ?? 0) * 1_000) / track.sampleRate;

/**
 * It holds more than its times have room for: packets at one time, of which most are dropped. AAC may decode to twice
 * the rate that its head says.
 */
const isTrimmed = (one: Pick<Decoded, 'track' | 'counts' | 'durationMs'>): boolean =>
  one.track.sampleRate >= 1 && isShort(one.durationMs, samplesMs(one) / (one.track.codec.startsWith('aac') ? 2 : 1));

/** Whether more than a little of a track was in its file and is not heard; what was not counted is not known. */
export function isLossy(
  { track, lateMs, durationMs, counts, isDamaged }: Decoded,
  file: Pick<Listing, 'format' | 'guessMs'> & { bytes: number },
): boolean {
  if (!counts) return true;
  if (track.sampleRate < 1 || counts.packets === 0) return false;
  if (isTrimmed({ track, counts, durationMs })) return true;
  // ADTS has no times and no word for what is passed over.
  if (file.format === 'aac' && isShort((durationMs * counts.bytes) / file.bytes, durationMs)) return true;
  // The sound of a transport stream has no gaps of its own, and ffmpeg is silent on packets that it passes over.
  if (!isDamaged && file.format !== 'mpegts') return false;
  // A phone sends nothing in a pause, which its decoder tells as an error.
  if (track.codec.startsWith('amr_')) return false;
  // Without times what is lost leaves no gap.
  if (file.format === 'mp3' && isShort(durationMs, file.guessMs ?? 0)) return true;
  const decodedMs = (durationMs * counts.frames) / counts.packets;
  return isShort(decodedMs, durationMs) || isShort(samplesMs({ track, counts }) + lateMs, durationMs);
}
