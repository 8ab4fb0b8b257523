import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import type { HeardWord } from '@svc/speech';
import { type Clock, systemClock } from '../../kernel/base/clock.ts';
import type { SpeechHeard } from './index.ts';
import { answers, openSpeech, protocols, secret, sound, SpeechServer, spoken } from './speech.testing.ts';

const keyFile = join(tmpdir(), `svc-speech-${process.pid}.key`);
before(() => writeFileSync(keyFile, `${secret}\n`));

/** Looks whether a transcript is done follow each other at once. */
const quick: Clock = { ...systemClock, after: (ms, run) => systemClock.after(ms === 2_000 ? 0 : ms, run) };

const entry = (kind: string, base_url: string, more: object = {}) => ({
  id: kind,
  kind,
  base_url,
  api_key_file: keyFile,
  ...more,
});
const brief = ({ text, startMs, endMs, speaker }: HeardWord) => [text, Math.round(startMs), Math.round(endMs), speaker];
const words = ({ words: heard }: SpeechHeard) => heard.map(brief);
const truth = (labels: (string | undefined)[]) =>
  spoken.map(({ text, start, end, speaker }) => [text, start * 1_000, end * 1_000, labels[speaker]]);
const unlabelled = truth([]);

describe('openai', () => {
  test('is asked for words with times, and answers them as they stand in the text', async () => {
    await using server = await SpeechServer.listen(protocols.openai());
    await using speech = openSpeech([
      entry('openai', `${server.url}/v1`, { prices: { 'whisper-1': { minute: 0.006 } } }),
    ]);
    const heard = await speech.hear({ language: 'en', terms: ['Kubernetes', 'Ștefan'] });
    assert.deepEqual(words(heard), unlabelled);
    assert.deepEqual([heard.language, heard.provider, heard.model], ['english', 'openai', 'whisper-1']);
    // 3 s of 6,000 micro-USD a minute.
    assert.equal(heard.costMicroUsd, 300);
    const [got] = server.got;
    assert.equal(got?.headers.authorization, `Bearer ${secret}`);
    assert.deepEqual(got?.audio, sound);
    assert.deepEqual(got?.fields, [
      ['model', 'whisper-1'],
      ['language', 'en'],
      ['response_format', 'verbose_json'],
      ['timestamp_granularities[]', 'word'],
      ['timestamp_granularities[]', 'segment'],
      ['prompt', 'Kubernetes, Ștefan'],
      ['file', 'window.flac'],
    ]);
  });

  test('of a model that tells speakers apart is asked for segments, whose words are estimated', async () => {
    await using server = await SpeechServer.listen(protocols.openai());
    const more = { models: ['gpt-4o-transcribe-diarize'], diarizes: true };
    await using speech = openSpeech([entry('openai', `${server.url}/v1`, more)]);
    const heard = await speech.hear({ terms: ['Kubernetes'] });
    assert.deepEqual(
      heard.words.map(({ text, speaker, estimated }) => [text, speaker, estimated]),
      [
        ['Hello,', 'A', true],
        ['world.', 'A', true],
        ['Bună', 'B', true],
        ['ziua!', 'B', true],
      ],
    );
    assert.deepEqual([heard.words[0]?.startMs, heard.words[3]?.endMs], [120, 2_400]);
  });

  test('is asked in the form that its model’s name says, whatever the file says of it', async () => {
    for (const [model, more, form] of [
      ['gpt-4o-transcribe-diarize', {}, 'diarized_json'],
      ['openai/gpt-4o-transcribe-diarize', { diarizes: false }, 'diarized_json'],
      ['openai/gpt-4o-mini-transcribe', {}, 'json'],
      ['whisper-large-v3', {}, 'verbose_json'],
    ] as const) {
      await using server = await SpeechServer.listen(protocols.openai());
      await using speech = openSpeech([entry('openai', `${server.url}/v1`, { models: [model], ...more })]);
      await speech.hear({ terms: ['Kubernetes'] });
      const fields = new Map(server.got[0]?.fields.map(([name, value]) => [name, value]));
      const isDiarized = form === 'diarized_json';
      assert.deepEqual(
        [fields.get('response_format'), fields.get('chunking_strategy'), fields.has('prompt')],
        [form, isDiarized ? 'auto' : undefined, !isDiarized],
        model,
      );
    }
  });

  test('of a model that gives text alone has its words spread over the window', async () => {
    await using server = await SpeechServer.listen(protocols.openai());
    await using speech = openSpeech([entry('openai', `${server.url}/v1`, { models: ['gpt-4o-transcribe'] })]);
    const heard = await speech.hear();
    assert.deepEqual(
      heard.words.map(({ text, estimated }) => [text, estimated]),
      spoken.map(({ text }) => [text, true]),
    );
    assert.equal(heard.words.at(-1)?.endMs, 3_000);
  });

  test('of a server without times of words has those of its segments', async () => {
    const segments = [{ start: 1, end: 2, text: ' Hello world', avg_logprob: -0.1 }];
    await using server = await SpeechServer.listen(answers({ text: 'Hello world', segments }));
    await using speech = openSpeech([entry('openai', `${server.url}/v1`)]);
    const heard = await speech.hear();
    assert.deepEqual([heard.words[0]?.startMs, heard.words[1]?.endMs, heard.words[1]?.estimated], [1_000, 2_000, true]);
    assert.equal(heard.words[0]?.confidence?.toFixed(3), '0.905');
  });

  test('of a server whose list of words is not all that it heard has the others from its segments', async () => {
    const texts = ['Hello, world.', 'How are you?', 'I am well.'];
    const segments = texts.map((text, n) => ({ start: n * 10, end: n * 10 + 3, text: ` ${text}` }));
    const listed = (said: string, from: number) =>
      said.split(' ').map((word, n) => ({ word, start: from + n, end: from + n + 0.5 }));
    for (const [words, times] of [
      [listed('Hello world', 1), [1_000, 2_000, 10_000, 20_000]],
      [listed('Hello', 1), [0, undefined, 10_000, 20_000]],
      [
        [...listed('Hello world', 1), ...listed('I am well', 21)],
        [1_000, 2_000, 10_000, 21_000],
      ],
      [
        [...listed('Hello world', 1), ...listed('How', 11)],
        [1_000, 2_000, 10_000, 20_000],
      ],
    ] as const) {
      await using server = await SpeechServer.listen(answers({ text: texts.join(' '), words, segments }));
      await using speech = openSpeech([entry('openai', `${server.url}/v1`)]);
      const heard = (await speech.hear()).words;
      assert.equal(heard.map(({ text }) => text).join(' '), texts.join(' '));
      const at = [heard[0], heard[1], heard[2], heard[5]].map((one) => one?.startMs);
      assert.deepEqual(at, [times[0], times[1] ?? at[1], times[2], times[3]]);
    }
  });

  test('of a server that writes numbers that JSON does not have is read without these', async () => {
    const text = JSON.stringify('It said "NaN", \\ and Infinity');
    const said = (number: string): string =>
      `{"text":${text},"segments":[{"start":1,"end":2,"avg_logprob":${number},"text":${text}},{"start":${number},"end":3,"text":"-inf"}]}`;
    for (const number of ['NaN', '-Infinity', 'nan', '-nan(ind)', 'inf']) {
      await using server = await SpeechServer.listen((response) => void response.end(said(number)));
      await using speech = openSpeech([entry('openai', `${server.url}/v1`)]);
      const heard = await speech.hear();
      assert.equal(heard.words.map((one) => one.text).join(' '), 'It said "NaN", \\ and Infinity -inf', number);
      assert.deepEqual([heard.words[0]?.startMs, heard.words[0]?.confidence], [1_000, undefined], number);
    }
  });
});

describe('deepgram', () => {
  test('gets the audio as the body, and answers words with speakers and the language that it found', async () => {
    await using server = await SpeechServer.listen(protocols.deepgram());
    await using speech = openSpeech([entry('deepgram', server.url)]);
    const heard = await speech.hear({ terms: ['Kubernetes', 'Max Planck'] });
    assert.deepEqual(words(heard), truth(['0', '1']));
    assert.deepEqual([heard.language, heard.model, heard.words[0]?.confidence], ['ro', 'nova-3', 0.98]);
    const [got] = server.got;
    assert.deepEqual([got?.headers.authorization, got?.headers['content-type']], [`Token ${secret}`, 'audio/flac']);
    assert.deepEqual(got?.audio, sound);
    const asked = got?.url.searchParams;
    assert.deepEqual(asked?.getAll('keyterm'), ['Kubernetes', 'Max Planck']);
    assert.deepEqual(
      ['diarize', 'punctuate', 'smart_format', 'utterances', 'detect_language', 'language'].map((name) =>
        asked?.get(name),
      ),
      ['true', 'true', 'true', 'true', 'true', null],
    );
  });

  test('is told the language that was set, and given terms in the way of its model', async () => {
    await using server = await SpeechServer.listen(protocols.deepgram());
    await using speech = openSpeech([entry('deepgram', server.url, { models: ['nova-2'], diarizes: false })]);
    const heard = await speech.hear({ language: 'ro', terms: ['Kubernetes'] });
    assert.deepEqual(words(heard), unlabelled);
    const asked = server.got[0]?.url.searchParams;
    assert.deepEqual([asked?.get('language'), asked?.get('detect_language')], ['ro', null]);
    assert.deepEqual(
      [asked?.get('keywords'), asked?.get('keyterm'), asked?.get('diarize')],
      ['Kubernetes', null, null],
    );
  });

  test('gets no more terms than it takes', async () => {
    await using server = await SpeechServer.listen(protocols.deepgram());
    await using speech = openSpeech([entry('deepgram', server.url)]);
    await speech.hear({ terms: Array.from({ length: 1_000 }, (_, n) => `term ${n}`) });
    assert.ok((server.got[0]?.url.searchParams.getAll('keyterm').length ?? 0) <= 100);
    assert.ok((server.got[0]?.url.href.length ?? 0) < 8_000);
  });
});

describe('assemblyai', () => {
  test('gets the audio, is looked at until it is done, and what it keeps is deleted', async () => {
    await using server = await SpeechServer.listen(protocols.assemblyai());
    await using speech = openSpeech([entry('assemblyai', server.url, { models: ['universal-2'] })], quick);
    const heard = await speech.hear({ terms: ['Kubernetes'] });
    assert.deepEqual(words(heard), truth(['A', 'B']));
    assert.deepEqual([heard.language, heard.model], ['ro', 'universal-2']);
    assert.deepEqual(
      server.got.map(({ method, url }) => `${method} ${url.pathname}`),
      [
        'POST /v2/upload',
        'POST /v2/transcript',
        'GET /v2/transcript/t-1',
        'GET /v2/transcript/t-1',
        'DELETE /v2/transcript/t-1',
      ],
    );
    assert.ok(server.got.every(({ headers }) => headers.authorization === secret));
    assert.deepEqual(server.got[0]?.audio, sound);
    assert.deepEqual(JSON.parse(server.got[1]?.body.toString() ?? ''), {
      audio_url: 'https://cdn.example.com/upload/u-1',
      speech_models: ['universal-2'],
      speaker_labels: true,
      language_detection: true,
      keyterms_prompt: ['Kubernetes'],
    });
  });

  test('of a window in which nobody speaks has no words, and of one that it cannot read is a failure', async () => {
    const failing = (error: string) => (response: never, got: { method: string; url: URL }) => {
      const said = got.url.pathname.endsWith('/upload') ? { upload_url: 'u' } : { id: 't-1', status: 'error', error };
      return answers(said)(response, got as never);
    };
    await using server = await SpeechServer.listen(
      failing('language_detection cannot be performed on files with no spoken audio.') as never,
    );
    await using speech = openSpeech([entry('assemblyai', server.url)]);
    assert.deepEqual((await speech.hear()).words, []);
    server.says = failing(`Transcoding failed for ${secret}`) as never;
    await assert.rejects(speech.hear(), { message: 'assemblyai: it failed: Transcoding failed for ***', final: false });
    assert.equal(server.got.at(-1)?.method, 'DELETE');
  });
});

describe('whispercpp', () => {
  test('answers words that are put together from tokens', async () => {
    await using server = await SpeechServer.listen(protocols.whispercpp());
    await using speech = openSpeech([{ id: 'own', kind: 'whispercpp', base_url: server.url }]);
    const heard = await speech.hear({ terms: ['Kubernetes'] });
    assert.deepEqual(words(heard), unlabelled);
    assert.deepEqual([heard.language, heard.costMicroUsd, heard.words[0]?.confidence], ['romanian', 0, 0.8]);
    assert.deepEqual(server.got[0]?.fields, [
      ['response_format', 'verbose_json'],
      ['temperature', '0'],
      ['language', 'auto'],
      ['prompt', 'Kubernetes'],
      ['file', 'window.flac'],
    ]);
    assert.equal(server.got[0]?.headers.authorization, undefined);
  });

  test('has estimated words where a letter was cut in two tokens', async () => {
    const segment = {
      text: ' ziuă',
      start: 1,
      end: 2,
      words: [
        { word: ' ziu\ufffd', start: 1, end: 2 },
        { word: '\ufffd', start: 2, end: 2 },
      ],
    };
    await using server = await SpeechServer.listen(answers({ segments: [segment] }));
    await using speech = openSpeech([{ id: 'own', kind: 'whispercpp', base_url: server.url }]);
    assert.deepEqual((await speech.hear()).words, [{ text: 'ziuă', startMs: 1_000, endMs: 2_000, estimated: true }]);
  });
});
