import type { TrackChoice } from './media.hearing.ts';
import { codecs, containers, MediaRefused, mostSamplesASecond, mostTracks } from './media.rules.ts';

/** A track of sound, by its place among those of its file. */
export interface SoundTrack extends Omit<TrackChoice, 'sounds'> {
  codec: string;
  /** Undefined: not told. */
  channels: number | undefined;
  /**
   * Channels that are added up: all but those for low effects; empty where there are two at most, or as many as is
   * not told.
   */
  added: readonly number[];
  sampleRate: number;
}

/** A file's container and its sound; `codec`, `channels` and `sampleRate` are of the first track that can be heard. */
export interface Sound {
  format: string;
  codec: string;
  contentType: string;
  channels: number;
  sampleRate: number;
}

/** What a file says of itself. */
export interface Listing extends Sound {
  tracks: SoundTrack[];
  /** What its head says of its length, where that is more than a guess; milliseconds. */
  saidMs: number | undefined;
  /** What its head says, also where that is a guess by its bytes. */
  guessMs: number | undefined;
}

/** Names of layouts that are no sum of numbers. */
const layouts: Readonly<Record<string, number>> = {
  mono: 1,
  stereo: 2,
  downmix: 2,
  quad: 4,
  hexagonal: 6,
  octagonal: 8,
  cube: 8,
  hexadecagonal: 16,
};

/** How many channels a layout has, as ffmpeg writes it: `stereo`, `5.1(side)`, `3 channels`. */
export function channelsOf(layout: string): number | undefined {
  const [, count] = /^(\d+) channels/.exec(layout) ?? [];
  if (count !== undefined) return Number(count);
  const name = layout.replace(/\(.*$/, '');
  if (/^\d+(?:\.\d+)+$/.test(name)) return name.split('.').reduce((sum, part) => sum + Number(part), 0);
  return layouts[name];
}

/** Which channels of a layout are for low effects: the fourth, or the third where there is no middle. */
export function effectsOf(layout: string): number[] {
  const [, named] = /^\d+ channels \(([\w+]+)\)/.exec(layout) ?? [];
  if (named !== undefined) return named.split('+').flatMap((name, n) => (name.startsWith('LFE') ? [n] : []));
  if (!/^\d+\.[12]/.test(layout)) return [];
  return [/^(?:2\.1|6\.1\(front\))/.test(layout) ? 2 : 3];
}

const streamLine = /^ {2}Stream #0:\d+(?:\[[^\]]*\])?(?:\(([\w-]+)\))?: (\w+)(?:: (.*))?$/;
/** As many as ffmpeg's `pan` takes. */
const mostChannels = 64;
/** Bytes of a Matroska in which its kind stands. */
const mostDocType = 128;
/** So large a size says that it was not known. */
const unknownSize = 0x7fff_0000;
const unknownLanguages = new Set(['und', 'mul', 'mis', 'zxx']);

/** The sound of a file by what ffmpeg said of it and by its first bytes. Throws `MediaRefused`. */
export function listingOf(said: string, head: Uint8Array): Listing {
  const lines = said.split('\n');
  const input = lines.findIndex((line) => line.startsWith('Input #0, '));
  const container = containers[/^Input #0, (\w+)/.exec(lines[input] ?? '')?.[1] ?? ''];
  if (!container) throw new MediaRefused('not_audio');
  // The next line that is not indented begins what comes out.
  const after = lines.findIndex((line, n) => n > input && !line.startsWith(' '));
  const told = lines.slice(input + 1, after < 0 ? undefined : after);
  const streams = told.map((line) => streamLine.exec(line)).filter((match) => match !== null);
  if (streams.length > mostTracks) throw new MediaRefused('too_many_tracks');
  const tracks = streams
    .filter(([, , kind]) => kind === 'Audio')
    .map(([, language = '', , text = ''], n) => trackOf(n, language, text));
  if (tracks.length === 0) throw new MediaRefused('not_audio');
  const heard = tracks.filter(({ isKnown }) => isKnown);
  const [first] = heard;
  if (!first) throw new MediaRefused(tracks.some(isHeadless) ? 'damaged' : 'unsupported');
  const isVideo = streams.some(([, , kind, text = '']) => kind === 'Video' && !text.includes('(attached pic)'));
  const { format, contentType } = typeOf(container, { head, isVideo, isQuickTime: isQuickTime(told) });
  const { codec, channels = 0, sampleRate } = first;
  const isExact = container.isExact === true && !isVideo;
  return {
    format,
    contentType,
    codec,
    channels,
    sampleRate,
    tracks,
    guessMs: lengthOf(told),
    saidMs: isExact ? (format === 'wav' ? wavLength(head) : lengthOf(told)) : undefined,
  };
}

/** The channels of a layout that are added up; none where their mean will do. */
function addedOf(layout: string): number[] {
  const effects = effectsOf(layout);
  const channels = Math.min(channelsOf(layout) ?? 0, mostChannels);
  return channels > 2 ? Array.from({ length: channels }, (_, n) => n).filter((n) => !effects.includes(n)) : [];
}

function trackOf(n: number, language: string, text: string): SoundTrack {
  const [codec = ''] = /^\w+/.exec(text) ?? [];
  const [, rate = '0', layout = ''] = /, (\d+) Hz, ([^,]+)/.exec(text) ?? [];
  const channels = channelsOf(layout);
  const sampleRate = Number(rate);
  const isRead = codecs.has(codec);
  const isEmpty = channels === 0 || sampleRate < 1;
  return {
    n,
    language: unknownLanguages.has(language) ? '' : language,
    isDefault: text.includes(' (default)'),
    isAside: /\((?:comment|visual impaired|descriptions|karaoke|clean effects)\)/.test(text),
    isKnown: isRead && !isEmpty && (channels ?? mostChannels) * sampleRate <= mostSamplesASecond,
    isRepeat: !isRead || isEmpty,
    codec,
    channels,
    added: addedOf(layout),
    sampleRate,
  };
}

/** Its packets did not come where ffmpeg looks for its head: it has none, or begins late. */
export const isHeadless = ({ isRepeat, codec }: SoundTrack): boolean => isRepeat && codecs.has(codec);

const isQuickTime = (lines: readonly string[]): boolean => lines.some((line) => /^ {4}major_brand +: qt/.test(line));

function typeOf(
  { format, contentType }: (typeof containers)[string],
  { head, isVideo, isQuickTime }: { head: Uint8Array; isVideo: boolean; isQuickTime: boolean },
): { format: string; contentType: string } {
  if (format === 'mp4' && isQuickTime) return { format, contentType: 'video/quicktime' };
  const isWebm = format === 'matroska' && Buffer.from(head).toString('latin1', 0, mostDocType).includes('webm');
  const type = isWebm ? 'audio/webm' : contentType;
  return { format: isWebm ? 'webm' : format, contentType: isVideo ? type.replace(/^audio/, 'video') : type };
}

function lengthOf(lines: readonly string[]): number | undefined {
  for (const line of lines) {
    const [, hours, minutes, seconds] = /^ {2}Duration: (\d+):(\d\d):(\d\d\.\d+)/.exec(line) ?? [];
    if (hours !== undefined)
      return Math.round((Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds)) * 1_000);
  }
  return undefined;
}

/**
 * Of a WAV by the chunks of its head: ffmpeg goes by what is there. A recorder that does not know yet writes the
 * largest number.
 */
function wavLength(head: Uint8Array): number | undefined {
  const bytes = Buffer.from(head);
  if (bytes.toString('latin1', 0, 4) !== 'RIFF') return undefined;
  let rate = 0;
  for (let at = 12; at + 8 <= bytes.length; ) {
    const kind = bytes.toString('latin1', at, at + 4);
    const size = bytes.readUInt32LE(at + 4);
    if (kind === 'data') return size >= unknownSize || rate === 0 ? undefined : Math.round((size * 1_000) / rate);
    if (kind === 'fmt ' && at + 20 <= bytes.length) rate = bytes.readUInt32LE(at + 16);
    at += 8 + size + (size % 2);
  }
  return undefined;
}
