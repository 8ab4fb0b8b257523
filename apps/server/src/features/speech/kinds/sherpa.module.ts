/** The parts of the package `sherpa-onnx-node` that are used. It is installed by operators, so its own types are not there. */
export interface OnnxModule {
  OfflineRecognizer: new (config: object) => Recognizer;
  OfflineSpeakerDiarization: new (config: object) => Diarizer;
  SpeakerEmbeddingExtractor: new (config: object) => Extractor;
  Vad: new (config: object, bufferSeconds: number) => Vad;
}

interface Waveform {
  samples: Float32Array;
  sampleRate: number;
}

interface Stream {
  acceptWaveform(waveform: Waveform): void;
}

/** Audio to text. */
export interface Recognizer {
  createStream(): Stream;
  decode(stream: Stream): void;
  /** Timestamps are seconds from the start of the stream, one a token; some models have none. */
  getResult(stream: Stream): { text: string; tokens?: string[]; timestamps?: number[] };
}

/** A stretch in which one speaker talks, in seconds. */
export interface Turn {
  start: number;
  end: number;
  speaker: number;
}

/** Who speaks when. */
export interface Diarizer {
  process(samples: Float32Array): Turn[];
}

/** Voices as vectors. */
export interface Extractor {
  createStream(): Stream & { inputFinished(): void };
  isReady(stream: Stream): boolean;
  compute(stream: Stream, external: boolean): Float32Array;
}

/** Finds where somebody speaks. */
export interface Vad {
  acceptWaveform(samples: Float32Array): void;
  isEmpty(): boolean;
  front(external: boolean): { start: number; samples: Float32Array };
  pop(): void;
  flush(): void;
}
