import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { ConfigError } from '../../config.ts';
import { testClock } from '../../kernel/base/clock.ts';
import { addSpeech, checkSpeech, checkSpeechFile, isSpeechKind, listSpeech, removeSpeech } from './index.ts';
import { answers, openSpeech, protocols, secret, SpeechServer } from './speech.testing.ts';

describe('the speech list of the providers file', () => {
  for (const [what, entry, fault] of [
    ['a key that nobody knows', { id: 'a', kind: 'deepgram', api_key_env: 'K', colour: 'red' }, /speech\.0.*colour/],
    ['a kind that nobody knows', { id: 'a', kind: 'parrot' }, /speech\.0\.kind/],
    ['no way to a key', { id: 'a', kind: 'deepgram' }, /speech a: api_key_env or api_key_file: is required/],
    ['no address', { id: 'a', kind: 'whispercpp' }, /speech a: base_url: is required/],
    ['no folder', { id: 'a', kind: 'sherpa' }, /speech a: model_dir: is required/],
    ['a folder for another kind', { id: 'a', kind: 'deepgram', api_key_env: 'K', model_dir: '/x' }, /sherpa alone/],
    [
      'a price that is none',
      { id: 'a', kind: 'deepgram', api_key_env: 'K', prices: { 'nova-3': { hour: 1 } } },
      /prices/,
    ],
  ] as const) {
    test(`with ${what} stops the start, and leaves what was read before`, async () => {
      await using server = await SpeechServer.listen(protocols.openai());
      const clock = testClock();
      await using speech = openSpeech([{ id: 'good', kind: 'openai', base_url: `${server.url}/v1` }], clock);
      checkSpeechFile(speech.place);
      speech.write([entry]);
      assert.throws(
        () => checkSpeechFile(speech.place),
        (error) => error instanceof ConfigError && fault.test(error.message),
      );
      clock.advance(5_000);
      assert.equal((await speech.hear()).provider, 'good');
    });
  }

  test('has each id once', async () => {
    const entry = { id: 'a', kind: 'deepgram', api_key_env: 'K' };
    await using speech = openSpeech([]);
    speech.write([entry, entry]);
    assert.throws(() => checkSpeechFile(speech.place), /two have the same id/);
  });
});

describe('svc providers, for speech', () => {
  test('adds, lists, checks and removes a provider, and never shows its key', async () => {
    await using server = await SpeechServer.listen(protocols.deepgram());
    await using speech = openSpeech([]);
    const keyFile = join(speech.folder, 'key');
    writeFileSync(keyFile, secret);
    const said = addSpeech(speech.place, 'deepgram', { url: server.url, keyFile });
    const listed = listSpeech(speech.place);
    assert.deepEqual(listed, [
      {
        id: 'deepgram',
        protocol: 'speech: deepgram',
        base_url: server.url,
        key: 'set',
        models: 'nova-3',
        unpriced: 'nova-3',
      },
    ]);
    const { ok, providers } = await checkSpeech(speech.place);
    assert.equal(ok, true);
    assert.match((providers[0] as { found: string }).found, /^nova-3 hears in \d+ ms$/);
    assert.equal(server.got[0]?.audio?.subarray(0, 4).toString(), 'fLaC');
    assert.throws(() => addSpeech(speech.place, 'deepgram', { url: server.url, keyFile }), /--id/);
    server.says = answers({ err_msg: `no ${secret}` }, 401);
    const failed = await checkSpeech(speech.place);
    assert.equal(failed.ok, false);
    assert.match((failed.providers[0] as { found: string }).found, /^it answered 401: no \*\*\*, after/);
    assert.doesNotMatch(JSON.stringify([said, listed, providers, failed]), new RegExp(secret));
    assert.deepEqual(removeSpeech(speech.place, 'deepgram'), { file: speech.path, removed: 'deepgram' });
    assert.equal(removeSpeech(speech.place, 'deepgram'), undefined);
    assert.deepEqual(JSON.parse(readFileSync(speech.path, 'utf8')), { speech: [] });
  });

  test('says what is missing, and writes nothing then', async () => {
    await using speech = openSpeech([]);
    assert.throws(() => addSpeech(speech.place, 'deepgram', {}), /api_key_env or api_key_file/);
    assert.throws(() => addSpeech(speech.place, 'deepgram', { keyEnv: 'SURELY_NOT_THERE' }), /SURELY_NOT_THERE/);
    assert.throws(() => addSpeech(speech.place, 'sherpa', {}), /model_dir/);
    assert.deepEqual(listSpeech(speech.place), []);
    assert.deepEqual(await checkSpeech(speech.place), { ok: true, providers: [] });
    const modelDir = join(speech.folder, 'models');
    mkdirSync(modelDir);
    addSpeech(speech.place, 'sherpa', { modelDir });
    assert.equal(listSpeech(speech.place).length, 1);
  });

  test('takes openai for a lane unless speech is asked for', () => {
    assert.deepEqual(
      [
        isSpeechKind('openai', false),
        isSpeechKind('openai', true),
        isSpeechKind('deepgram', false),
        isSpeechKind('ollama', true),
      ],
      [false, true, true, false],
    );
  });
});
