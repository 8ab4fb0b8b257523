import { basename, join } from 'node:path';

/** Files of a folder of models, by what they are for. */
export interface ModelFiles {
  /** `modelConfig` of a recognizer; undefined when the folder has no model that is known. */
  readonly model: Readonly<Record<string, unknown>> | undefined;
  /** Finds where somebody speaks (Silero). */
  readonly vad: string | undefined;
  /** Both are needed to tell speakers apart. */
  readonly segmentation: string | undefined;
  readonly embedding: string | undefined;
}

/**
 * What a folder holds, by the names that published models have: a transducer (encoder, decoder, joiner), Whisper (encoder,
 * decoder), or one file of SenseVoice or of a CTC model of NeMo. Of a file and its int8 form the smaller is taken.
 */
export function modelsIn(dir: string, names: readonly string[], language: string | undefined): ModelFiles {
  const own = names.filter((name) => name.endsWith('.onnx'));
  const find = (pattern: RegExp): string | undefined => {
    const fitting = own.filter((name) => pattern.test(name));
    const name = fitting.find((one) => one.includes('int8')) ?? fitting[0];
    return name === undefined ? undefined : join(dir, name);
  };
  const [encoder, decoder, joiner] = [find(/encoder/i), find(/decoder/i), find(/joiner/i)];
  const [vad, segmentation, embedding] = [
    find(/vad/i),
    find(/segmentation/i),
    find(/embedding|speaker|campplus|eres2net|titanet|resnet34/i),
  ];
  const tokens = names.find((name) => name.endsWith('tokens.txt'));
  const used = [vad, segmentation, embedding].map((path) => path && basename(path));
  const single = own.find((name) => /model.*\.onnx$/i.test(name) && !used.includes(name));
  const path = single === undefined ? undefined : join(dir, single);
  const isSense = path !== undefined && /sense/i.test(`${basename(dir)} ${single}`);
  const model =
    encoder && decoder && joiner
      ? { transducer: { encoder, decoder, joiner } }
      : encoder && decoder
        ? { whisper: { encoder, decoder, language: language ?? '', task: 'transcribe', tailPaddings: -1 } }
        : isSense
          ? { senseVoice: { model: path, language: language ?? '', useInverseTextNormalization: 1 } }
          : path && { nemoCtc: { model: path } };
  const isWhole = model && tokens !== undefined;
  return { model: isWhole ? { ...model, tokens: join(dir, tokens) } : undefined, vad, segmentation, embedding };
}
