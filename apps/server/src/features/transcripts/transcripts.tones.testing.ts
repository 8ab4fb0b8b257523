import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';

/** Samples a second of the recordings that are made here, and of what is decoded. */
const rate = 16_000;
/** A word is three symbols of 60 ms, each one of 16 tones, under a tone of its speaker: 4,096 words that a program can hear. */
const symbolMs = 60;
const symbols = 3;
const wordMs = symbolMs * symbols;
const toneOf = (symbol: number): number => 500 + 140 * symbol;
const speakerTone = (speaker: number): number => 3_400 + 260 * speaker;
const mostSpeakers = 12;
/** The samples of a word's length of each tone: recordings of hours are made of them. */
const symbolWaves = wavesOf(16, toneOf);
const speakerWaves = wavesOf(mostSpeakers, speakerTone);
/** So much of a tone tells it from its neighbours, which are 140 and 260 Hz away. */
const heardMs = 20;

function wavesOf(count: number, frequencyOf: (n: number) => number): Float64Array[] {
  const samples = (wordMs * rate) / 1000;
  return Array.from({ length: count }, (_, n) =>
    Float64Array.from({ length: samples }, (_value, at) => Math.sin((2 * Math.PI * frequencyOf(n) * at) / rate)),
  );
}

/** A word of a recording: a number below 4,096, who says it and when it begins. */
export interface ToneWord {
  id: number;
  speaker: number;
  startMs: number;
}

/** Words one after the other, so often; speakers take turns of so many words. */
export function toneWords(options: {
  durationMs: number;
  everyMs?: number;
  speakers?: number;
  turn?: number;
}): ToneWord[] {
  const { durationMs, everyMs = 400, speakers = 2, turn = 7 } = options;
  const count = Math.floor((durationMs - wordMs - 200) / everyMs);
  return Array.from({ length: count }, (_, n) => ({
    // Neighbours differ, and each number comes again late.
    id: (n * 1_237 + 17) % 4_096,
    speaker: Math.floor(n / turn) % speakers,
    startMs: 100 + n * everyMs,
  }));
}

/** The recording of words, as WAV of one channel. */
export function toneRecording(words: readonly ToneWord[], durationMs: number): Buffer {
  const samples = new Int16Array(Math.round((durationMs * rate) / 1000));
  for (const { id, speaker, startMs } of words) {
    const from = Math.round((startMs * rate) / 1000);
    for (let at = 0; at < (wordMs * rate) / 1000; at += 1) {
      const symbol = (id >> (4 * Math.floor((at * 1000) / rate / symbolMs))) & 15;
      const wave = (symbolWaves[symbol]?.[at] ?? 0) + 0.8 * (speakerWaves[speaker]?.[at] ?? 0);
      if (from + at < samples.length) samples[from + at] = Math.round(9_000 * wave);
    }
  }
  return Buffer.concat([wavHead(samples.byteLength), Buffer.from(samples.buffer)]);
}

function wavHead(bytes: number): Buffer {
  const head = Buffer.alloc(44);
  head.write('RIFF', 0);
  head.writeUInt32LE(bytes + 36, 4);
  head.write('WAVEfmt ', 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(rate, 24);
  head.writeUInt32LE(rate * 2, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write('data', 36);
  head.writeUInt32LE(bytes, 40);
  return head;
}

/** The text of a word, as a provider would write it. */
export const textOf = (id: number): string => `w${id}`;

/** A word that was heard in audio of any format; times are seconds. */
export interface HeardTone {
  text: string;
  speaker: number;
  start: number;
  end: number;
}

/** What was heard in the last recordings: a start of ffmpeg is a quarter of a second of processor time. */
const known = new Map<string, readonly HeardTone[]>();
const mostKnown = 16;

/** Hears the words in audio, by its samples: what ffmpeg, cutting and encoding left of them. */
export function hearTones(audio: Buffer): readonly HeardTone[] {
  const hash = createHash('sha256').update(audio).digest('hex');
  const heard = known.get(hash) ?? decodeTones(audio);
  known.delete(hash);
  known.set(hash, heard);
  if (known.size > mostKnown) known.delete(known.keys().next().value ?? '');
  return heard;
}

function decodeTones(audio: Buffer): HeardTone[] {
  const pcm = execFileSync(
    'ffmpeg',
    ['-loglevel', 'error', '-i', 'pipe:0', '-f', 's16le', '-ac', '1', '-ar', String(rate), 'pipe:1'],
    {
      input: audio,
      maxBuffer: 512 * 1024 * 1024,
    },
  );
  const samples = new Int16Array(pcm.buffer.slice(pcm.byteOffset, pcm.byteOffset + pcm.length));
  const heard: HeardTone[] = [];
  for (const { from, to } of burstsOf(samples)) {
    // A burst that is cut at the edge of the audio is no whole word.
    if (((to - from) * 1000) / rate < wordMs - 12) continue;
    // From the middle of a symbol: at its edges stands some of the one beside it.
    const part = (n: number) => {
      const start = from + Math.round(((n * symbolMs + (symbolMs - heardMs) / 2) * rate) / 1000);
      return samples.subarray(start, start + (heardMs * rate) / 1000);
    };
    let id = 0;
    for (let n = 0; n < symbols; n += 1) id |= loudest(part(n), 16, toneOf) << (4 * n);
    const speaker = loudest(part(1), mostSpeakers, speakerTone);
    heard.push({ text: textOf(id), speaker, start: from / rate, end: to / rate });
  }
  return heard;
}

/** Spans of sound between silences of 40 ms. */
function burstsOf(samples: Int16Array): { from: number; to: number }[] {
  const found: { from: number; to: number }[] = [];
  const gap = (40 * rate) / 1000;
  let [from, last] = [-1, -1];
  for (let at = 0; at < samples.length; at += 1) {
    if (Math.abs(samples[at] as number) < 1_500) continue;
    if (from >= 0 && at - last > gap) {
      found.push({ from, to: last });
      from = at;
    } else if (from < 0) from = at;
    last = at;
  }
  if (from >= 0) found.push({ from, to: last });
  return found;
}

/** Which of some tones is loudest (Goertzel). */
function loudest(samples: Int16Array, count: number, frequencyOf: (n: number) => number): number {
  let [best, most] = [0, -1];
  for (let n = 0; n < count; n += 1) {
    const turn = 2 * Math.cos((2 * Math.PI * frequencyOf(n)) / rate);
    let one = 0;
    let two = 0;
    for (let at = 0; at < samples.length; at += 1) {
      const next = (samples[at] as number) + turn * one - two;
      two = one;
      one = next;
    }
    const power = one * one + two * two - turn * one * two;
    if (power > most) [best, most] = [n, power];
  }
  return best;
}
