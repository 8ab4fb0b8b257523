import { levelMs, type PieceHearing, type TrackHearing, type ChannelTurn } from './media.hearing.ts';
import { containers, decoders, longestReadMs, stopSeconds } from './media.rules.ts';

/** Streams that a file may have while it is opened; what is taken has fewer. */
const mostOpenedTracks = 64;
/** Decoders need packets before the first that counts: a bit reservoir, an overlap, 80 ms of Opus. */
const leadMs = 2_000;
/** Quieter than this for so long is a silence. */
const silence = { decibels: -35, seconds: 0.3 };
/**
 * How loud channels are is measured from 300 Hz to 2 kHz, where most of a voice is: low effects of a film (up to
 * 120 Hz) come out 30 dB quieter.
 */
const levels = { rate: 4_000, above: 'highpass=f=300,highpass=f=300' };
/** Channels change within 25 ms of when they are to. */
const turnSamples = 400;
/** More channels than these are heard added up, unmeasured. */
export const mostMeasured = 8;

/**
 * How far a file is looked through for the heads of its tracks: a transport stream has them where each begins. By
 * itself ffmpeg looks at 5 s and 5 MB, and a track that began later counted as damaged.
 */
const lookedThrough = '-analyzeduration 600000000 -probesize 33554432'.split(' ');

/**
 * Of what may jump, Ogg and transport streams, ffmpeg takes out gaps over 10 s where it reads on, and not where it
 * seeks. A recorder of calls writes such a gap into an Ogg for whoever is muted.
 */
const steady = ['-dts_delta_threshold', `${longestReadMs / 1_000}`];

/** Where the file and the folder of a program are: in its cage, or on the machine. */
export interface Places {
  input: string;
  output: string;
}

/**
 * What comes before a stranger's file. Without it ffmpeg follows what the file names: a playlist called `.wav` reads
 * local files and URLs. No decoder of pictures opens, not even for a look.
 */
const untrusted = ({ input }: Places, isJumpy = false): string[] => [
  ...(isJumpy ? [] : steady),
  ...lookedThrough,
  ...`-protocol_whitelist file -format_whitelist ${Object.keys(containers).join()}`.split(' '),
  ...`-codec_whitelist ${decoders.join()} -max_streams ${mostOpenedTracks} -threads 1 -i`.split(' '),
  `file:${input}`,
];

const unseen = '-nostdin -hide_banner -nostats -loglevel'.split(' ');
const quiet = [...unseen, 'error'];
/** It says how much later than its file a track begins. */
const talking = [...unseen, 'verbose'];
/** It says how much it read and decoded, and before each line how grave that is. */
const graded = [...unseen, 'level+verbose'];
/** A track of sound, and nothing else of the file. */
const track = (n: number): string[] => `-map 0:a:${n} -vn -sn -dn -map_metadata -1 -map_chapters -1`.split(' ');
const one = '-threads 1 -filter_threads 1 -filter_complex_threads 1'.split(' ');
/** Says how far it is, as `out_time_us` on standard output. */
const told = '-progress pipe:1'.split(' ');
const until = `-t ${stopSeconds}`.split(' ');
/** No name and version of the program in what goes out. */
const anonymous = '-fflags +bitexact -flags:a +bitexact'.split(' ');
const bare = '-map_metadata -1 -map_chapters -1'.split(' ');
/**
 * On the clock of the file: gaps become silence, so that times stay what a player shows. Of a transport stream ffmpeg
 * begins with the first track that is read, hence `lateMs`.
 */
const clocked = (lateMs: number): string =>
  `${lateMs > 0 ? `asetpts=PTS+${seconds(lateMs)}/TB,` : ''}aresample=16000:async=1:first_pts=0`;
const mono = 'aformat=sample_fmts=s16:channel_layouts=mono';
/** A mean of many channels is 12 dB and more below the one who speaks. */
const addedUp = (channels: readonly number[]): string =>
  `aformat=sample_fmts=dblp,pan=mono|c0=${channels.map((n) => `c${n}`).join('+')}`;
/** What is louder than full scale is made quieter for as long, by a look 5 ms ahead. */
const limited = 'alimiter=level=disabled';
/** Each line is written by itself: several filters write to one pipe. */
const printed = 'ametadata=mode=print:file=-:direct=1';
const quietSpans = `silencedetect=noise=${silence.decibels}dB:duration=${silence.seconds},${printed}`;

/** ffmpeg: which streams a file has, on standard error; without an output it ends there, with code 1. */
export const tracksArgs = (places: Places): string[] => [...unseen, 'info', ...untrusted(places)];

/**
 * ffmpeg: where each packet of a track ends, a line of milliseconds each, without decoding; and which streams the
 * file has, as `tracksArgs`: a program less to start.
 */
export const lengthArgs = (places: Places, n: number, isJumpy: boolean): string[] => [
  ...talking,
  ...untrusted(places, isJumpy),
  ...track(n),
  ...'-c copy -bsf:a setts=ts=TS+DURATION'.split(' '),
  ...until,
  ...'-f mkvtimestamp_v2 -'.split(' '),
];

function channelsHeard({ channel, added = [] }: Pick<TrackHearing, 'channel' | 'added'>): string {
  if (channel !== undefined) return `pan=mono|c0=c${channel},`;
  return added.length > 0 ? `${addedUp(added)},${limited},` : '';
}

/** Where what is read of a file begins in it, and how much later the first track that is read. */
interface Begin {
  fromMs: number;
  lateMs: number;
}

/** A track as one channel. */
function trackHeard(input: number, { n, turns = [], ...how }: TrackHearing, { fromMs, lateMs }: Begin): string {
  const source = `[${input}:a:${n}]${clocked(lateMs)},`;
  const ahead = turns.filter(({ toMs }) => toMs > fromMs);
  if (ahead.length === 0) return `${source}${channelsHeard(how)}${mono}`;
  const during = (those: readonly ChannelTurn[]): string =>
    those.map((one) => `between(t,${seconds(one.fromMs - fromMs)},${seconds(one.toMs - fromMs - 1)})`).join('+');
  const channels = [...new Set(ahead.map(({ channel }) => channel))];
  const ways = [
    { how, muted: during(ahead) },
    ...channels.map((channel) => ({
      how: { channel },
      muted: `not(${during(ahead.filter((one) => one.channel === channel))})`,
    })),
  ];
  const label = (kind: string, k: number): string => `[${kind}${input}x${n}x${k}]`;
  const split = `${source}asetnsamples=n=${turnSamples}:p=0,asplit=${ways.length}`;
  return [
    split + ways.map((_, k) => label('w', k)).join(''),
    ...ways.map((way, k) => {
      const part = `volume=0:enable='${way.muted}',${channelsHeard(way.how)}${mono}`;
      return `${label('w', k)}${part}${label('v', k)}`;
    }),
    `${ways.map((_, k) => label('v', k)).join('')}amix=inputs=${ways.length}:duration=longest:normalize=0,${mono}`,
  ].join(';');
}

/**
 * The sound of an input from `fromMs`, heard as asked: a channel or the sum of each track, on one clock, as one
 * channel at 16 kHz. Tracks at once are a little quieter, so that two of full strength rarely clip.
 */
function heard(input: number, { tracks }: Pick<PieceHearing, 'tracks'>, fromMs = 0): string {
  const lateMs = Math.min(...tracks.map((track) => track.lateMs ?? 0)) - fromMs;
  const parts = tracks.map((track) => trackHeard(input, track, { fromMs, lateMs }));
  if (parts.length === 1) return parts.join('');
  const named = parts.map((part, k) => `${part}[t${input}x${k}]`);
  const mixed = parts.map((_, k) => `[t${input}x${k}]`).join('');
  const volume = (1 / Math.sqrt(parts.length)).toFixed(3);
  return [...named, `${mixed}amix=inputs=${parts.length}:duration=longest:normalize=0,volume=${volume},${mono}`].join(
    ';',
  );
}

/** ffmpeg: silences as `lavfi.silence_…` on standard output, and the decoded length. */
export const silenceArgs = (places: Places, hearing: Pick<PieceHearing, 'tracks' | 'isJumpy'>): string[] => [
  ...graded,
  ...untrusted(places, hearing.isJumpy),
  ...one,
  '-filter_complex',
  `${heard(0, hearing)},${quietSpans}[o]`,
  ...'-map [o]'.split(' '),
  ...bare,
  ...told,
  ...until,
  ...'-f null -'.split(' '),
];

/**
 * ffmpeg: the same of the sum of a track's channels (of those `added`, or the mean), and how loud the sum and each
 * channel are, as `lavfi.astats.…` of each `levelMs`. The bare `aresample` keeps the sum's one channel from being
 * asked of what is split.
 */
export function levelArgs(
  places: Places,
  { n, added = [], lateMs = 0 }: Pick<TrackHearing, 'n' | 'added' | 'lateMs'>,
  isJumpy?: boolean,
): string[] {
  const { rate, above } = levels;
  const sum = added.length > 0 ? addedUp(added) : 'aformat=channel_layouts=mono';
  const frames = `asetnsamples=n=${(rate * levelMs) / 1_000}:p=0,astats=metadata=1:reset=1`;
  const graph = [
    `[0:a:${n}]${clocked(lateMs)},asplit=2[m][c]`,
    `[m]aresample,${channelsHeard({ added })}${mono},${quietSpans}[mo]`,
    `[c]aresample=${rate},${above},asplit=2[s][p]`,
    `[s]aresample,${sum},${frames}:measure_perchannel=none:measure_overall=RMS_level,${printed}[so]`,
    `[p]${frames}:measure_perchannel=RMS_level:measure_overall=none,${printed}[po]`,
  ];
  const mapped = ['mo', 'so', 'po'].flatMap((label) => ['-map', `[${label}]`]);
  const output = [...bare, ...told, ...until, ...'-f null -'.split(' ')];
  return [...graded, ...untrusted(places, isJumpy), ...one, '-filter_complex', graph.join(';'), ...mapped, ...output];
}

/** A part of one file, milliseconds; as samples it is as long as `padMs` more. */
export interface Span {
  startMs: number;
  endMs: number;
  padMs: number;
}

/** How a file is read: what of it is heard, and whether a place in it can be sought. */
export interface PieceReading extends Pick<PieceHearing, 'tracks'> {
  isSought: boolean;
}

/**
 * It seeks to some time before the part and cuts by the times of samples; what cannot be sought is read from its
 * start.
 */
function sought(fromMs: number, isSought: boolean): { lead: number; seek: string[] } {
  const lead = isSought ? Math.min(fromMs, leadMs) : fromMs;
  return { lead, seek: fromMs > lead ? ['-ss', seconds(fromMs - lead)] : [] };
}

/** ffmpeg: a part as FLAC. */
export function partArgs(places: Places, reading: PieceReading, { startMs, endMs }: Omit<Span, 'padMs'>): string[] {
  const { lead, seek } = sought(startMs, reading.isSought);
  const cut = `atrim=start=${seconds(lead)}:end=${seconds(lead + endMs - startMs)},asetpts=PTS-STARTPTS`;
  const graph = ['-filter_complex', `${heard(0, reading, startMs - lead)},${cut}[o]`, '-map', '[o]'];
  const output = [...bare, ...anonymous, ...told, ...'-c:a flac -f flac -y'.split(' '), `file:${places.output}`];
  return [...quiet, ...seek, ...untrusted(places, !reading.isSought), ...one, ...graph, ...output];
}

/**
 * ffmpeg: spans of one file, one after the other in the order given, each padded with silence, as samples without a
 * head.
 */
export function spansArgs(places: Places, reading: PieceReading, spans: readonly Span[]): string[] {
  const inputs: string[] = [];
  const cuts = spans.map(({ startMs, endMs, padMs }, n) => {
    const { lead, seek } = sought(startMs, reading.isSought);
    inputs.push(...seek, ...untrusted(places, !reading.isSought));
    const whole = seconds(endMs - startMs + padMs);
    const cut = `atrim=start=${seconds(lead)}:end=${seconds(lead + endMs - startMs)},asetpts=PTS-STARTPTS`;
    // What ends early is as long as the others expect: the place of each span is known before.
    return `${heard(n, reading, startMs - lead)},${cut},apad=whole_dur=${whole},atrim=end=${whole}[c${n}]`;
  });
  const joined = `${spans.map((_, n) => `[c${n}]`).join('')}concat=n=${spans.length}:v=0:a=1[all]`;
  const mapped = [...'-map [all]'.split(' '), ...bare, ...one];
  const output = [...anonymous, ...told, ...'-c:a pcm_s16le -f s16le -y'.split(' '), `file:${places.output}`];
  return [...quiet, ...inputs, '-filter_complex', [...cuts, joined].join(';'), ...mapped, ...output];
}

/** ffmpeg: our own FLAC as Opus of 32 kbit/s. */
export function opusArgs(places: Places): string[] {
  const coded = '-c:a libopus -b:a 32k -application voip -f ogg -y'.split(' ');
  return [
    ...quiet,
    ...untrusted(places),
    ...track(0),
    ...one,
    ...anonymous,
    ...told,
    ...coded,
    `file:${places.output}`,
  ];
}

const seconds = (ms: number): string => (ms / 1000).toFixed(3);
