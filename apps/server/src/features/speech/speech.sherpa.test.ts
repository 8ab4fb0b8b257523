import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { modelsIn } from './kinds/sherpa.models.ts';
import { checkSpeech } from './index.ts';
import { openSpeech, protocols, SpeechServer } from './speech.testing.ts';

/** A stand-in of the package that operators install: the same classes, and what it hears is made up from what it gets. */
const standIn = `
const { basename } = require('node:path');
let made = 0;
class OfflineRecognizer {
  constructor({ modelConfig }) {
    made += 1;
    if (modelConfig.whisper.encoder.includes('deadly')) process.exit(1);
    if (modelConfig.whisper.encoder.includes('endless')) for (;;);
    this.language = modelConfig.whisper.language;
  }
  createStream() {
    return { acceptWaveform({ samples, sampleRate }) { this.seconds = samples.length / sampleRate; } };
  }
  decode() {}
  getResult({ seconds }) {
    const tokens = [' Hel', 'lo,', ' ' + seconds, ' ' + this.language, ' ' + made];
    return { text: tokens.join('').trim(), tokens, timestamps: [0, 0.1, 0.2, 0.3, 0.4] };
  }
}
class OfflineSpeakerDiarization {
  process() { return [{ start: 0, end: 0.35, speaker: 0 }, { start: 0.35, end: 0.9, speaker: 1 }]; }
}
class SpeakerEmbeddingExtractor {
  createStream() { return { length: 0, acceptWaveform({ samples }) { this.length += samples.length; }, inputFinished() {} }; }
  isReady() { return true; }
  compute({ length }) { return Float32Array.of(length, 1); }
}
class Vad {
  constructor({ sileroVad }) { this.found = []; this.length = 0; this.model = basename(sileroVad.model); }
  acceptWaveform(samples) { this.length += samples.length; }
  flush() { this.found.push({ start: 1600, samples: new Float32Array(8000) }); }
  isEmpty() { return this.found.length === 0; }
  front() { return this.found[0]; }
  pop() { this.found.shift(); }
}
module.exports = { OfflineRecognizer, OfflineSpeakerDiarization, SpeakerEmbeddingExtractor, Vad };
`;

/** A folder of models in which the stand-in is installed. */
function folderOf(parent: string, files: readonly string[], isInstalled = true): string {
  const folder = join(parent, `models-${files[0]}`);
  const own = join(folder, 'node_modules/sherpa-onnx-node');
  mkdirSync(own, { recursive: true });
  for (const file of files) writeFileSync(join(folder, file), '');
  if (isInstalled) writeFileSync(join(own, 'index.js'), standIn);
  return folder;
}

const whisper = ['base-encoder.onnx', 'base-decoder.onnx', 'base-tokens.txt'];
const whole = [...whisper, 'silero_vad.onnx', 'segmentation.onnx', 'embedding.onnx'];

describe('sherpa', () => {
  test('answers words with speakers and their voices, from a process that keeps its models', async () => {
    await using speech = openSpeech([]);
    await using own = openSpeech([{ id: 'own', kind: 'sherpa', model_dir: folderOf(speech.folder, whole) }]);
    const heard = await own.hear({ language: 'ro' });
    assert.deepEqual(
      heard.words.map(({ text, startMs, endMs, speaker }) => [text, startMs, endMs, speaker]),
      [
        ['Hello,', 100, 300, '0'],
        ['0.5', 300, 400, '0'],
        ['ro', 400, 500, '1'],
        ['1', 500, 600, '1'],
      ],
    );
    // The voice of each is made from what it says: 350 and 550 ms of 16 kHz.
    assert.deepEqual(heard.embeddings, { 0: [5_600, 1], 1: [8_800, 1] });
    assert.deepEqual([heard.language, heard.model, heard.costMicroUsd], ['ro', 'models-base-encoder.onnx', 0]);
    assert.equal((await own.hear({ language: 'ro' })).words.at(-1)?.text, '1');
    assert.equal((await own.hear({ language: 'en' })).words.at(-1)?.text, '2');
  });

  test('cuts the audio itself where no model finds speech, and names no speakers without models for them', async () => {
    await using speech = openSpeech([]);
    const entry = { id: 'own', kind: 'sherpa', model_dir: folderOf(speech.folder, whisper) };
    await using own = openSpeech([entry]);
    const { words, embeddings } = await own.hear();
    assert.deepEqual([words[1]?.text, words[0]?.speaker, embeddings], ['1', undefined, undefined]);
  });

  test('says what to install, and which files are missing', async () => {
    await using speech = openSpeech([]);
    const bare = folderOf(speech.folder, whisper, false);
    await using missing = openSpeech([{ id: 'own', kind: 'sherpa', model_dir: bare }]);
    const words = `own: sherpa-onnx-node is not installed; install it with: npm install --prefix ${bare} sherpa-onnx-node`;
    await assert.rejects(missing.hear(), { final: true, message: words });
    const { ok } = await checkSpeech(missing.place);
    assert.equal(ok, false);
    const empty = folderOf(speech.folder, ['notes.txt']);
    await using nothing = openSpeech([{ id: 'own', kind: 'sherpa', model_dir: empty }]);
    await assert.rejects(nothing.hear(), {
      final: true,
      message: `own: model_dir: ${empty} has no model with its tokens.txt`,
    });
  });

  test('that dies or does not end costs its process, and the next provider is asked', async () => {
    await using server = await SpeechServer.listen(protocols.openai());
    await using speech = openSpeech([]);
    const next = { id: 'next', kind: 'openai', base_url: `${server.url}/v1`, priority: 1 };
    for (const name of ['deadly', 'endless']) {
      const files = [`${name}-encoder.onnx`, `${name}-decoder.onnx`, 'tokens.txt'];
      const entry = { id: 'own', kind: 'sherpa', model_dir: folderOf(speech.folder, files), total_s: 2 };
      await using own = openSpeech([entry, next]);
      assert.equal((await own.hear()).provider, 'next');
    }
  });
});

describe('a folder of models', () => {
  const found = (dir: string, ...names: string[]) => modelsIn(dir, names, 'ro').model;

  test('is read by the names that published models have', () => {
    const transducer = { encoder: '/m/encoder.int8.onnx', decoder: '/m/decoder.onnx', joiner: '/m/joiner.int8.onnx' };
    assert.deepEqual(
      found('/m', 'encoder.onnx', 'encoder.int8.onnx', 'decoder.onnx', 'joiner.int8.onnx', 'tokens.txt'),
      { transducer, tokens: '/m/tokens.txt' },
    );
    assert.deepEqual(found('/m', 'tiny-encoder.onnx', 'tiny-decoder.onnx', 'tiny-tokens.txt'), {
      whisper: {
        encoder: '/m/tiny-encoder.onnx',
        decoder: '/m/tiny-decoder.onnx',
        language: 'ro',
        task: 'transcribe',
        tailPaddings: -1,
      },
      tokens: '/m/tiny-tokens.txt',
    });
    assert.deepEqual(found('/sense-voice', 'model.int8.onnx', 'tokens.txt', 'segmentation-model.onnx'), {
      senseVoice: { model: '/sense-voice/model.int8.onnx', language: 'ro', useInverseTextNormalization: 1 },
      tokens: '/sense-voice/tokens.txt',
    });
    assert.deepEqual(found('/nemo', 'model.onnx', 'tokens.txt'), {
      nemoCtc: { model: '/nemo/model.onnx' },
      tokens: '/nemo/tokens.txt',
    });
    assert.equal(found('/m', 'model.onnx'), undefined);
  });
});
