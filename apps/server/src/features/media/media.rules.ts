/** Longest recording, milliseconds (document 1, Limits). */
const longestMs = 10_800_000;
/** Past it the reading stops: a file may hold more than it says. */
const stopSeconds = 10_801;
/** Containers round: a recording of three hours may end some frames later. */
export const longestReadMs = longestMs + 1_000;
/** Milliseconds for looking at a file, and for one pass that decodes it. */
export const probeMs = 30_000;
export const decodeMs = 600_000;
/** Tracks of all kinds in one file. */
const mostTracks = 16;
const mostOpenedTracks = 64;
/** Samples a second of all channels: eight at 192 kHz. Three hours of more would decode for longer than `decodeMs`. */
const mostSamplesASecond = 8 * 192_000;
/** Longest part that is cut, milliseconds: 58 MB before compression. */
export const longestPartMs = 1_800_000;
/** Providers take 25 MB. */
export const mostFlacBytes = 24_000_000;
/** Decoders need packets before the first that counts: a bit reservoir, an overlap, 80 ms of Opus. */
const leadMs = 2_000;
/** Quieter than this for so long is a silence. */
const silence = { decibels: -35, seconds: 0.3 };

/** Demuxers by their name in ffmpeg, with the name that we answer and the type of a file without pictures. */
const containers: Readonly<Record<string, { format: string; contentType: string }>> = {
  wav: { format: 'wav', contentType: 'audio/wav' },
  w64: { format: 'w64', contentType: 'audio/x-w64' },
  aiff: { format: 'aiff', contentType: 'audio/aiff' },
  mp3: { format: 'mp3', contentType: 'audio/mpeg' },
  mov: { format: 'mp4', contentType: 'audio/mp4' },
  matroska: { format: 'matroska', contentType: 'audio/x-matroska' },
  ogg: { format: 'ogg', contentType: 'audio/ogg' },
  flac: { format: 'flac', contentType: 'audio/flac' },
  aac: { format: 'aac', contentType: 'audio/aac' },
  amr: { format: 'amr', contentType: 'audio/amr' },
  caf: { format: 'caf', contentType: 'audio/x-caf' },
};

/** Decoders that may open: those of speech and music that the containers above carry, and none of pictures. */
const decoders = [
  ...'aac mp3 mp3float mp2 mp2float mp1 mp1float opus libopus vorbis libvorbis'.split(' '),
  ...'flac alac amrnb amrwb libopencore_amrnb libopencore_amrwb ac3 eac3 gsm gsm_ms'.split(' '),
  ...'adpcm_ms adpcm_ima_wav adpcm_ima_qt pcm_alaw pcm_mulaw pcm_s8 pcm_u8'.split(' '),
  ...['s16', 's24', 's32', 'f32', 'f64'].flatMap((kind) => [`pcm_${kind}le`, `pcm_${kind}be`]),
];
/**
 * ffprobe opens a decoder for every track and gives up where one may not open: these of pictures and subtitles too, which
 * players of today use. Nothing decodes them later.
 */
const lookedAt = [
  ...'h264 hevc vp8 vp9 libdav1d av1 mpeg4 h263 mjpeg png bmp gif theora prores'.split(' '),
  ...'mov_text movtext text subrip srt ass ssa webvtt'.split(' '),
];
/** Codecs as ffprobe names them. */
const codecs = new Set(decoders.map((name) => name.replace(/^lib(?:opencore_)?|(?<=mp[123])float$/g, '')));

/** Where the file and the folder of a program are: in its cage, or on the machine. */
export interface Places {
  input: string;
  output: string;
}

/**
 * What comes before a stranger's file. Without it ffmpeg follows what the file names: a playlist called `.wav` reads local
 * files and URLs.
 */
const untrusted = ({ input }: Places, allowed: readonly string[] = decoders): string[] => [
  ...`-protocol_whitelist file -format_whitelist ${Object.keys(containers).join()}`.split(' '),
  ...`-codec_whitelist ${allowed.join()} -max_streams ${mostOpenedTracks} -threads 1 -i`.split(' '),
  `file:${input}`,
];

const quiet = '-nostdin -hide_banner -loglevel error -nostats'.split(' ');
/** The first track of sound, and nothing else of the file. */
const sound = '-map 0:a:0 -vn -sn -dn -map_metadata -1 -map_chapters -1'.split(' ');
const one = '-threads 1 -filter_threads 1'.split(' ');
/** Says how far it is, as `out_time_us` on standard output. */
const told = '-progress pipe:1'.split(' ');
const toNowhere = [...told, ...`-t ${stopSeconds} -f null -`.split(' ')];
/** No name and version of the program in what goes out. */
const anonymous = '-fflags +bitexact -flags:a +bitexact'.split(' ');
/** One channel at 16 kHz on the clock of the file: gaps become silence, so that times stay what a player shows. */
const speech = 'aresample=16000:async=1:first_pts=0,aformat=sample_fmts=s16:channel_layouts=mono';
const quietSpans = `silencedetect=noise=${silence.decibels}dB:duration=${silence.seconds},ametadata=mode=print:file=-`;

const shown =
  'format=format_name:format_tags=major_brand:stream=codec_type,codec_name,channels,sample_rate:stream_disposition=attached_pic';

/** ffprobe: which tracks a file has, as JSON. */
export const tracksArgs = (places: Places): string[] => [
  ...'-hide_banner -loglevel error -of json=compact=1 -show_entries'.split(' '),
  shown,
  ...untrusted(places, [...decoders, ...lookedAt]),
];

/** ffmpeg: where the last packet of sound ends, by packets and without decoding. */
export const lengthArgs = (places: Places): string[] => [
  ...quiet,
  ...untrusted(places),
  ...sound,
  ...'-c copy'.split(' '),
  ...toNowhere,
];

/** ffmpeg: silences as `lavfi.silence_…` on standard output, and the decoded length. */
export const silenceArgs = (places: Places): string[] => [
  ...quiet,
  ...untrusted(places),
  ...sound,
  ...one,
  '-af',
  `${speech},${quietSpans}`,
  ...toNowhere,
];

/** ffmpeg: a part as FLAC. It seeks to some time before the part and cuts by the times of samples. */
export function partArgs(places: Places, fromMs: number, toMs: number): string[] {
  const lead = Math.min(fromMs, leadMs);
  const seek = fromMs > lead ? ['-ss', seconds(fromMs - lead)] : [];
  const cut = `atrim=start=${seconds(lead)}:end=${seconds(lead + toMs - fromMs)},asetpts=PTS-STARTPTS`;
  const filters = ['-af', `${speech},${cut}`];
  const output = [...anonymous, ...told, ...'-c:a flac -f flac -y'.split(' '), `file:${places.output}`];
  return [...quiet, ...seek, ...untrusted(places), ...sound, ...one, ...filters, ...output];
}

/** A part of a file, milliseconds. */
export interface ClipSpan {
  startMs: number;
  endMs: number;
}

/** ffmpeg: spans of one file, one after the other in the order given, each with a silence after it, as samples without a head. */
export function clipsArgs(places: Places, spans: readonly ClipSpan[], gapMs: number): string[] {
  const inputs = spans.flatMap(({ startMs }) => {
    const lead = Math.min(startMs, leadMs);
    return [...(startMs > lead ? ['-ss', seconds(startMs - lead)] : []), ...untrusted(places)];
  });
  const cuts = spans.map(({ startMs, endMs }, n) => {
    const lead = Math.min(startMs, leadMs);
    const whole = seconds(endMs - startMs + gapMs);
    const cut = `atrim=start=${seconds(lead)}:end=${seconds(lead + endMs - startMs)},asetpts=PTS-STARTPTS`;
    // What ends early is as long as the others expect: the place of each clip is known before.
    return `[${n}:a:0]${speech},${cut},apad=whole_dur=${whole},atrim=end=${whole}[c${n}]`;
  });
  const joined = `${spans.map((_, n) => `[c${n}]`).join('')}concat=n=${spans.length}:v=0:a=1[all]`;
  const mapped = '-map [all] -map_metadata -1 -map_chapters -1 -filter_complex_threads 1 -threads 1'.split(' ');
  const output = [...anonymous, ...told, ...'-c:a pcm_s16le -f s16le -y'.split(' '), `file:${places.output}`];
  return [...quiet, ...inputs, '-filter_complex', [...cuts, joined].join(';'), ...mapped, ...output];
}

/** The head of a WAV file of one channel of 16 bits at 16 kHz with so many bytes of samples. */
export function wavHead(bytes: number): Buffer {
  const head = Buffer.alloc(44);
  head.write('RIFF', 0);
  head.writeUInt32LE(bytes + 36, 4);
  head.write('WAVEfmt ', 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(16_000, 24);
  head.writeUInt32LE(32_000, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write('data', 36);
  head.writeUInt32LE(bytes, 40);
  return head;
}

/** ffmpeg: our own FLAC as Opus of 32 kbit/s. */
export function opusArgs(places: Places): string[] {
  const coded = '-c:a libopus -b:a 32k -application voip -f ogg -y'.split(' ');
  return [...quiet, ...untrusted(places), ...sound, ...one, ...anonymous, ...told, ...coded, `file:${places.output}`];
}

const seconds = (ms: number): string => (ms / 1000).toFixed(3);

/** Why a file is not taken. */
export type MediaFault = 'not_audio' | 'too_long' | 'damaged' | 'unsupported' | 'too_many_tracks';

const messages: Readonly<Record<MediaFault, string>> = {
  not_audio: 'the file holds no sound; send WAV, AIFF, MP3, M4A, MP4, WebM, Matroska, Ogg, FLAC, AAC, AMR or CAF',
  too_long: 'the recording is longer than 3 hours; split it',
  damaged: 'the file is damaged and cannot be read; send it again, or convert it',
  unsupported: 'the sound is coded in a way that is not supported; convert the file to WAV, MP3, M4A, Opus or FLAC',
  too_many_tracks: `the file has more than ${mostTracks} tracks; send one with the sound alone`,
};

/** A file that is not taken, and why. The message is for the caller: it names neither path nor program. */
export class MediaRefused extends Error {
  override name = 'MediaRefused';
  readonly reason: MediaFault;

  constructor(reason: MediaFault) {
    super(messages[reason]);
    this.reason = reason;
  }
}

/** What ffprobe says of a file's tracks. */
interface Tracks {
  format?: { format_name?: string; tags?: { major_brand?: string } };
  streams?: {
    codec_type?: string;
    codec_name?: string;
    channels?: number;
    sample_rate?: string;
    disposition?: { attached_pic?: number };
  }[];
}

/** A file's container and its first track of sound. */
export interface Sound {
  format: string;
  codec: string;
  contentType: string;
  channels: number;
  sampleRate: number;
}

/** The sound of a file by what ffprobe said of it and by its first bytes. Throws `MediaRefused`. */
export function soundOf(json: string, head: Uint8Array): Sound {
  const { format, streams = [] } = readTracks(json);
  const container = containers[format?.format_name?.split(',')[0] ?? ''];
  if (!container) throw new MediaRefused('not_audio');
  if (streams.length > mostTracks) throw new MediaRefused('too_many_tracks');
  const track = streams.find(({ codec_type: type }) => type === 'audio');
  if (!track) throw new MediaRefused('not_audio');
  const { codec_name: codec = '', channels = 0, sample_rate: rate } = track;
  const sampleRate = Number(rate) || 0;
  if (!codecs.has(codec)) throw new MediaRefused('unsupported');
  if (channels < 1 || sampleRate < 1) throw new MediaRefused('damaged');
  if (channels * sampleRate > mostSamplesASecond) throw new MediaRefused('unsupported');
  const isVideo = streams.some((one) => one.codec_type === 'video' && one.disposition?.attached_pic !== 1);
  const isWebm = container.format === 'matroska' && latin(head).includes('webm');
  const brand = format?.tags?.major_brand?.trim();
  let { contentType } = container;
  if (isWebm) contentType = 'audio/webm';
  if (isVideo) contentType = contentType.replace(/^audio/, 'video');
  if (container.format === 'mp4' && brand === 'qt') contentType = 'video/quicktime';
  return { format: isWebm ? 'webm' : container.format, codec, contentType, channels, sampleRate };
}

function readTracks(json: string): Tracks {
  try {
    return JSON.parse(json) as Tracks;
  } catch {
    throw new MediaRefused('damaged');
  }
}

const latin = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');

/** First bytes of the containers above. */
const beginnings =
  /^(?:RIFF....WAVE|RF64....WAVE|riff\x2e\x91|FORM....AIF[FC]|ID3|\xff[\xe0-\xff]|....(?:ftyp|moov|mdat|wide|free|skip)|.E\xdf\xa3|OggS|fLaC|#!AMR|caff)/s;

/** Why ffprobe could not open a file: one that begins as a recording is damaged, another is none. */
export function openFault(head: Uint8Array, said: string): MediaFault {
  if (said.includes('max_streams')) return 'too_many_tracks';
  if (/Codec \(\w+\) not on whitelist/.test(said)) return 'unsupported';
  return beginnings.test(latin(head)) ? 'damaged' : 'not_audio';
}
