import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { estimateWords, type Heard, type HeardWord } from '@svc/speech';
import { type ModelFiles, modelsIn } from './sherpa.models.ts';
import type { Diarizer, Extractor, OnnxModule, Recognizer, Turn, Vad } from './sherpa.module.ts';
import { wordsOfTokens } from './tokens.ts';

/** A window for a worker of sherpa-onnx. */
export interface SherpaWork {
  readonly kind: 'hear';
  readonly file: string;
  readonly modelDir: string;
  readonly diarizes: boolean;
  readonly threads: number;
  readonly language?: string;
}

/** Something is missing that an operator has to install. */
export class SetupError extends Error {
  override name = 'SetupError';
}

const sampleRate = 16_000;
/** A little more than 15 min. */
const mostBytes = 16 * 60 * sampleRate * 4;
/** Whisper reads 30 s at once; without a model that finds speech, the audio is cut into such pieces. */
const pieceSamples = 28 * sampleRate;
const vadSamples = 512;
/** A voice is made from so much of what its speaker says. */
const voiceSamples = 30 * sampleRate;

/** A recognizer with its models, which stay loaded for the next window. */
interface Loaded {
  readonly key: string;
  readonly onnx: OnnxModule;
  readonly files: ModelFiles;
  readonly recognizer: Recognizer;
  readonly diarizer: Diarizer | undefined;
  readonly extractor: Extractor | undefined;
}

/** The work of a process that runs sherpa-onnx: audio to words, with speakers where the folder has models for that. */
export class Sherpa {
  #loaded: Loaded | undefined;

  /** Throws `SetupError` for what is not installed. */
  async hear(work: SherpaWork): Promise<Heard> {
    const loaded = await this.#load(work);
    const samples = await samplesOf(work.file);
    const words = piecesOf(loaded, samples).flatMap((piece) => wordsOfPiece(loaded.recognizer, piece));
    const turns = work.diarizes && loaded.diarizer ? loaded.diarizer.process(samples) : [];
    const embeddings = loaded.extractor ? voicesOf(loaded.extractor, samples, turns) : {};
    return {
      words: withSpeakers(words, turns),
      ...(work.language !== undefined && { language: work.language }),
      ...(Object.keys(embeddings).length > 0 && { embeddings }),
    };
  }

  async #load({ modelDir, language, threads }: SherpaWork): Promise<Loaded> {
    const key = JSON.stringify([modelDir, language, threads]);
    if (this.#loaded?.key === key) return this.#loaded;
    const onnx = await moduleOf(modelDir);
    const files = modelsIn(modelDir, namesIn(modelDir), language);
    if (!files.model) throw new SetupError(`model_dir: ${modelDir} has no model with its tokens.txt`);
    const more = { numThreads: threads, provider: 'cpu', debug: 0 };
    const modelConfig = { ...files.model, ...more };
    const { segmentation, embedding } = files;
    this.#loaded = {
      key,
      onnx,
      files,
      recognizer: new onnx.OfflineRecognizer({ featConfig: { sampleRate, featureDim: 80 }, modelConfig }),
      diarizer:
        segmentation === undefined || embedding === undefined
          ? undefined
          : new onnx.OfflineSpeakerDiarization({
              segmentation: { pyannote: { model: segmentation }, ...more },
              embedding: { model: embedding, ...more },
              clustering: { numClusters: -1, threshold: 0.5 },
              minDurationOn: 0.2,
              minDurationOff: 0.5,
            }),
      extractor:
        embedding === undefined ? undefined : new onnx.SpeakerEmbeddingExtractor({ model: embedding, ...more }),
    };
    return this.#loaded;
  }
}

function namesIn(modelDir: string): string[] {
  try {
    return readdirSync(modelDir);
  } catch (error) {
    throw new SetupError(`model_dir: ${modelDir}: ${(error as NodeJS.ErrnoException).code}`, { cause: error });
  }
}

/** sherpa-onnx-node of the folder of models, else of the platform's own packages. */
async function moduleOf(modelDir: string): Promise<OnnxModule> {
  const name = 'sherpa-onnx-node';
  let reason = '';
  for (const base of [join(modelDir, 'package.json'), import.meta.filename]) {
    try {
      const found = (await import(pathToFileURL(createRequire(base).resolve(name)).href)) as { default: OnnxModule };
      return found.default;
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      // Its program for this machine is a package of its own, which it looks for when it is loaded.
      if (code !== 'MODULE_NOT_FOUND') reason ||= `: ${message.split('\n')[0]?.slice(0, 200)}`;
    }
  }
  throw new SetupError(`${name} is not installed${reason}; install it with: npm install --prefix ${modelDir} ${name}`);
}

/** The audio as samples of 16 kHz, in -1..1. */
async function samplesOf(file: string): Promise<Float32Array> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const form = ['-f', 'f32le', '-ac', '1', '-ar', String(sampleRate), 'pipe:1'];
  const options = { encoding: 'buffer', maxBuffer: mostBytes } as const;
  execFile('ffmpeg', ['-nostdin', '-v', 'error', '-i', file, ...form], options, (error, out) => {
    if (!error) resolve(out);
    else if (error.code === 'ENOENT') reject(new SetupError('ffmpeg is not installed'));
    else reject(new Error('ffmpeg cannot read the audio', { cause: error }));
  });
  const bytes = await promise;
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + (bytes.length & ~3)));
}

/** A part of the audio in which somebody may speak. */
interface Piece {
  readonly start: number;
  readonly samples: Float32Array;
}

function piecesOf({ onnx, files }: Loaded, samples: Float32Array): Piece[] {
  const pieces: Piece[] = [];
  if (files.vad === undefined) {
    for (let start = 0; start < samples.length; start += pieceSamples) {
      pieces.push({ start, samples: samples.slice(start, start + pieceSamples) });
    }
    return pieces;
  }
  const model = {
    model: files.vad,
    threshold: 0.5,
    minSilenceDuration: 0.5,
    minSpeechDuration: 0.25,
    windowSize: vadSamples,
  };
  const vad: Vad = new onnx.Vad(
    { sileroVad: { ...model, maxSpeechDuration: 28 }, sampleRate, numThreads: 1, debug: 0 },
    60,
  );
  const take = (): void => {
    for (; !vad.isEmpty(); vad.pop()) {
      // A buffer of the native side would be gone when the detector is.
      const { start, samples: found } = vad.front(false);
      pieces.push({ start, samples: Float32Array.from(found) });
    }
  };
  for (let at = 0; at < samples.length; at += vadSamples) {
    const window = new Float32Array(vadSamples);
    window.set(samples.subarray(at, at + vadSamples));
    vad.acceptWaveform(window);
    take();
  }
  vad.flush();
  take();
  return pieces;
}

const msOf = (samples: number): number => Math.round((samples * 1_000) / sampleRate);

function wordsOfPiece(recognizer: Recognizer, { start, samples }: Piece): HeardWord[] {
  const stream = recognizer.createStream();
  stream.acceptWaveform({ samples, sampleRate });
  recognizer.decode(stream);
  const { text, tokens = [], timestamps = [] } = recognizer.getResult(stream);
  const [from, to] = [msOf(start), msOf(start + samples.length)];
  if (timestamps.length === 0 || timestamps.length !== tokens.length) return estimateWords(text, from, to);
  const at = (n: number): number => (n < timestamps.length ? from + Math.round((timestamps[n] ?? 0) * 1_000) : to);
  // A token ends when the next one begins, but none takes longer than a second.
  return wordsOfTokens(
    tokens.map((token, n) => ({ text: token, startMs: at(n), endMs: Math.min(at(n + 1), at(n) + 1_000) })),
  );
}

/** Words with the speaker whose turn they overlap most, else whose turn is next to them. */
function withSpeakers(words: readonly HeardWord[], turns: readonly Turn[]): HeardWord[] {
  if (turns.length === 0) return [...words];
  return words.map((word) => {
    let best = -Infinity;
    let speaker = 0;
    for (const turn of turns) {
      // Negative: how far apart they are.
      const overlap = Math.min(word.endMs, turn.end * 1_000) - Math.max(word.startMs, turn.start * 1_000);
      if (overlap > best) [best, speaker] = [overlap, turn.speaker];
    }
    return { ...word, speaker: String(speaker) };
  });
}

/** The voice of each speaker as a vector, from the longest turns. It joins speakers over windows, and is not kept. */
function voicesOf(extractor: Extractor, samples: Float32Array, turns: readonly Turn[]): Record<string, number[]> {
  const voices: Record<string, number[]> = {};
  for (const [speaker, own] of Map.groupBy(turns, (turn) => turn.speaker)) {
    const stream = extractor.createStream();
    let left = voiceSamples;
    for (const { start, end } of own.toSorted((a, b) => b.end - b.start - (a.end - a.start))) {
      if (left <= 0) break;
      const part = samples.slice(start * sampleRate, Math.min(end * sampleRate, start * sampleRate + left));
      left -= part.length;
      stream.acceptWaveform({ samples: part, sampleRate });
    }
    stream.inputFinished();
    if (extractor.isReady(stream)) voices[String(speaker)] = Array.from(extractor.compute(stream, false));
  }
  return voices;
}
