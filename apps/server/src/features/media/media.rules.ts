/** Longest recording, milliseconds (document 1, Limits). */
const longestMs = 10_800_000;
/** Past it the reading stops: a file may hold more than it says. */
export const stopSeconds = 10_801;
/** Containers round: a recording of three hours may end some frames later. */
export const longestReadMs = longestMs + 1_000;
/** Milliseconds for looking at a file, and for one pass that decodes it. */
export const probeMs = 30_000;
export const decodeMs = 600_000;
/** Tracks of all kinds in one file. */
export const mostTracks = 16;
/** Samples a second of all channels: eight at 192 kHz. Three hours of more would decode for longer than `decodeMs`. */
export const mostSamplesASecond = 8 * 192_000;
/** Longest part that is cut, milliseconds: 58 MB before compression. */
export const longestPartMs = 1_800_000;
/** Providers take 25 MB. */
export const mostFlacBytes = 24_000_000;
/** A container: the name that we answer, and the type of a file without pictures. */
interface Container {
  format: string;
  contentType: string;
  /** Its head says how long it is; with others that is a guess. */
  isExact?: true;
  /** Times jump where such files were joined, and what seeks by them is lost. */
  isJumpy?: true;
}

/** Containers by their demuxer's name in ffmpeg. None of them opens another file (`-protocol_whitelist` beside it). */
export const containers: Readonly<Record<string, Container>> = {
  wav: { format: 'wav', contentType: 'audio/wav', isExact: true },
  w64: { format: 'w64', contentType: 'audio/x-w64', isExact: true },
  aiff: { format: 'aiff', contentType: 'audio/aiff', isExact: true },
  mp3: { format: 'mp3', contentType: 'audio/mpeg' },
  mov: { format: 'mp4', contentType: 'audio/mp4', isExact: true },
  matroska: { format: 'matroska', contentType: 'audio/x-matroska', isExact: true },
  ogg: { format: 'ogg', contentType: 'audio/ogg' },
  flac: { format: 'flac', contentType: 'audio/flac', isExact: true },
  aac: { format: 'aac', contentType: 'audio/aac' },
  amr: { format: 'amr', contentType: 'audio/amr' },
  caf: { format: 'caf', contentType: 'audio/x-caf' },
  avi: { format: 'avi', contentType: 'video/x-msvideo' },
  mpegts: { format: 'mpegts', contentType: 'video/mp2t', isJumpy: true },
};

/** Decoders that may open: those of speech and music that the containers above carry, and none of pictures. */
export const decoders = [
  ...'aac aac_latm mp3 mp3float mp2 mp2float mp1 mp1float opus libopus vorbis libvorbis'.split(' '),
  ...'flac alac amrnb amrwb libopencore_amrnb libopencore_amrwb ac3 eac3 gsm gsm_ms'.split(' '),
  ...'adpcm_ms adpcm_ima_wav adpcm_ima_qt pcm_alaw pcm_mulaw pcm_s8 pcm_u8'.split(' '),
  ...['s16', 's24', 's32', 'f32', 'f64'].flatMap((kind) => [`pcm_${kind}le`, `pcm_${kind}be`]),
];
/** Codecs as ffmpeg names them in what it says of a file. */
export const codecs = new Set(
  decoders.map((name) => name.replace(/^lib(?:opencore_)?|(?<=mp[123])float$/g, '').replace(/^amr(?=[nw]b$)/, 'amr_')),
);

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

/** Why a file is not taken. */
export type MediaFault = 'not_audio' | 'too_long' | 'damaged' | 'unsupported' | 'container' | 'too_many_tracks';

const messages: Readonly<Record<MediaFault, string>> = {
  not_audio:
    'the file holds no sound; send WAV, AIFF, MP3, M4A, MP4, WebM, Matroska, Ogg, FLAC, AAC, AMR, CAF, AVI or MPEG-TS',
  too_long: 'the recording is longer than 3 hours; split it',
  damaged: 'the file is damaged and cannot be read; send it again, or convert it',
  unsupported: 'the sound is coded in a way that is not supported; convert the file to WAV, MP3, M4A, Opus or FLAC',
  container:
    'files of this kind are not read (Windows Media, Flash, RealMedia, MPEG programs, MXF); convert the file to MP4 or WebM',
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

const latin = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');

/** First bytes of the containers above. */
const beginnings =
  /^(?:RIFF....(?:WAVE|AVI )|RF64....WAVE|riff\x2e\x91|FORM....AIF[FC]|ID3|\xff[\xe0-\xff]|....(?:ftyp|moov|mdat|wide|free|skip)|.E\xdf\xa3|OggS|fLaC|#!AMR|caff)/s;
/**
 * First bytes of containers with sound that are known and not read, in hex: ASF, FLV, RealMedia, MPEG programs,
 * MXF.
 */
const unread = /^(?:3026b275|464c5601|2e524d46|000001ba|060e2b34)/;

/** Why ffmpeg could not open a file: one that begins as a recording is damaged, another is none. */
export function openFault(head: Uint8Array, said: string): MediaFault {
  if (said.includes('max_streams')) return 'too_many_tracks';
  if (unread.test(Buffer.from(head).toString('hex'))) return 'container';
  return beginnings.test(latin(head)) ? 'damaged' : 'not_audio';
}
