import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { assemble } from '@svc/speech';
import { testClock } from '../../kernel/base/clock.ts';
import { NoProvider, SpeechFailed } from './index.ts';
import { answers, openSpeech, protocols, type Says, secret, SpeechServer, spoken } from './speech.testing.ts';

const openai = (id: string, base: string, more: object = {}) => ({
  id,
  kind: 'openai',
  base_url: `${base}/v1`,
  ...more,
});

/** Two providers; the second one hears. */
async function two(says: Says, clock = testClock()) {
  const first = await SpeechServer.listen(says);
  const second = await SpeechServer.listen(protocols.openai());
  const speech = openSpeech([openai('first', first.url), openai('second', second.url)], clock);
  return {
    first,
    second,
    speech,
    clock,
    async [Symbol.asyncDispose]() {
      await speech[Symbol.asyncDispose]();
      await first[Symbol.asyncDispose]();
      await second[Symbol.asyncDispose]();
    },
  };
}

/** Half of an answer, and then nothing. */
const half: Says = (response) => {
  const text = JSON.stringify({ text: 'Hello', words: [] });
  response.writeHead(200, { 'content-length': String(text.length) }).write(text.slice(0, 10), () => response.destroy());
};

describe('providers of speech', () => {
  for (const [what, says] of [
    ['answers 500', answers({ error: { message: 'oops' } }, 500)],
    ['answers 429', answers({}, 429)],
    ['refuses its key', answers({}, 401)],
    ['refuses the audio', answers({}, 400)],
    ['breaks its answer off', half],
    ['ends its answer in the middle', (response) => void response.writeHead(200).end('{"text": "Hel')],
    ['answers something else', answers({ hello: 'world' })],
    ['answers a list', answers([])],
    ['closes the connection', (response) => void response.destroy()],
  ] satisfies [string, Says][]) {
    test(`go on with the next when one ${what}`, async () => {
      await using they = await two(says);
      const heard = await they.speech.hear();
      assert.equal(heard.provider, 'second');
      assert.equal(heard.words.length, spoken.length);
    });
  }

  test('go on with the next when one takes too long, and when one does not listen', async () => {
    const asked = Promise.withResolvers<void>();
    await using they = await two(() => asked.resolve());
    const hearing = they.speech.hear();
    await asked.promise;
    they.clock.advance(300_000);
    assert.equal((await hearing).provider, 'second');
    const gone = await SpeechServer.listen(half);
    const { url } = gone;
    await gone[Symbol.asyncDispose]();
    they.speech.write([openai('gone', url), openai('second', they.second.url)]);
    they.clock.advance(5_000);
    assert.equal((await they.speech.hear()).provider, 'second');
  });

  test('leave one that failed alone for 5 s, and ask it again after it', async () => {
    await using they = await two(answers({}, 503));
    await they.speech.hear();
    await they.speech.hear();
    assert.equal(they.first.got.length, 1);
    they.clock.advance(5_001);
    they.first.says = protocols.openai();
    assert.equal((await they.speech.hear()).provider, 'first');
  });

  test('do not leave one alone that refused a window', async () => {
    await using they = await two(answers({}, 413));
    await they.speech.hear();
    they.first.says = protocols.openai();
    assert.equal((await they.speech.hear()).provider, 'first');
  });

  test('ask one that had too much to do only when its time is over, 10 min at most', async () => {
    const clock = testClock();
    await using server = await SpeechServer.listen(answers({}, 429, { 'retry-after': '7200' }));
    await using speech = openSpeech([openai('only', server.url)], clock);
    const limited = { name: 'SpeechFailed', final: false, rateLimited: true };
    await assert.rejects(speech.hear(), { ...limited, retryAfterMs: 600_000 });
    clock.advance(400_000);
    await assert.rejects(speech.hear(), { ...limited, retryAfterMs: 200_000 });
    assert.equal(server.got.length, 1);
    clock.advance(200_001);
    server.says = protocols.openai();
    assert.equal((await speech.hear()).provider, 'only');
  });

  test('read a Retry-After that is a date', async () => {
    const clock = testClock(Date.parse('2026-01-01T00:00:00Z'));
    const says = answers({}, 429, { 'retry-after': 'Thu, 01 Jan 2026 00:01:00 GMT' });
    await using server = await SpeechServer.listen(says);
    await using speech = openSpeech([openai('only', server.url)], clock);
    await assert.rejects(speech.hear(), { rateLimited: true, retryAfterMs: 60_000 });
  });

  test('say that it is final only when it is for all of them', async () => {
    await using they = await two(answers({}, 400));
    they.second.says = answers({ error: { message: 'no such model' } }, 404);
    await assert.rejects(they.speech.hear(), {
      final: true,
      rateLimited: false,
      retryAfterMs: undefined,
      message: 'first: it answered 400; second: it answered 404: no such model',
    });
    they.second.says = answers({}, 500);
    await assert.rejects(they.speech.hear(), { final: false, rateLimited: false });
    they.first.says = answers({}, 429, { 'retry-after': '3' });
    await assert.rejects(they.speech.hear(), { final: false, rateLimited: false });
  });

  test('never say a key, also when a provider repeats it', async () => {
    const said = { error: { message: `Incorrect API key provided: ${secret}` } };
    await using server = await SpeechServer.listen(answers(said, 401));
    const clock = testClock();
    await using speech = openSpeech([], clock);
    const keyFile = join(speech.folder, 'key');
    writeFileSync(keyFile, secret);
    speech.write([openai('only', server.url, { api_key_file: keyFile })]);
    clock.advance(5_000);
    await assert.rejects(speech.hear(), (error: Error) => {
      assert.ok(error instanceof SpeechFailed && error.final);
      assert.equal(error.message, 'only: it answered 401: Incorrect API key provided: ***');
      return true;
    });
    assert.equal(server.got[0]?.headers.authorization, `Bearer ${secret}`);
  });

  test('without a list say what to set, and with a missing key go on with the others', async () => {
    const clock = testClock();
    await using server = await SpeechServer.listen(protocols.openai());
    await using speech = openSpeech([], clock);
    assert.equal(speech.providers.isEmpty, true);
    await assert.rejects(speech.hear(), (error) => error instanceof NoProvider && /providers add/.test(error.message));
    const off = openai('off', server.url, { api_key_env: 'SURELY_NOT_THERE' });
    speech.write([off, openai('second', server.url)]);
    clock.advance(5_000);
    assert.equal((await speech.hear()).provider, 'second');
    speech.write([off]);
    clock.advance(5_000);
    await assert.rejects(speech.hear(), {
      final: true,
      message: 'off: it is off: the environment has no SURELY_NOT_THERE',
    });
  });

  test('are tried by priority, and in the order of the file', async () => {
    await using server = await SpeechServer.listen(protocols.openai());
    const entries = [openai('c', server.url, { priority: 2 }), openai('a', server.url), openai('b', server.url)];
    await using speech = openSpeech(entries);
    assert.equal((await speech.hear()).provider, 'a');
  });

  test('end when nobody waits any more, and ask no other one', async () => {
    const asked = Promise.withResolvers<void>();
    await using they = await two(() => asked.resolve());
    const leaving = new AbortController();
    const hearing = they.speech.hear({}, leaving.signal);
    await asked.promise;
    leaving.abort(new Error('left'));
    await assert.rejects(hearing, /left/);
    assert.equal(they.second.got.length, 0);
  });

  test('refuse an answer that is over 32 MiB', async () => {
    await using server = await SpeechServer.listen((response) => {
      response.writeHead(200);
      const piece = Buffer.alloc(1024 * 1024, ' ');
      const more = (left: number): void => {
        if (left === 0 || response.destroyed) response.end();
        else response.write(piece, () => more(left - 1));
      };
      more(40);
    });
    await using speech = openSpeech([openai('only', server.url)]);
    await assert.rejects(speech.hear(), /only: its answer is over 32 MiB/);
  });

  test('hand on what a provider says, in its order and any language: the transcript is repaired', async () => {
    const words = spoken.map((word, n) => (n === 0 ? { ...word, end: -1 } : word));
    await using server = await SpeechServer.listen(protocols.deepgram(words, 'de-AT'));
    await using speech = openSpeech([{ id: 'dg', kind: 'deepgram', base_url: server.url }]);
    const heard = await speech.hear();
    const window = { n: 0, startMs: 0, endMs: 3_000, fromMs: 0, toMs: 3_000 };
    const found = assemble({ durationMs: 3_000, tracks: [{ track: 'mixed', windows: [{ window, heard }] }] });
    assert.deepEqual(
      found.utterances.map(({ text, speaker }) => [speaker, text]),
      [
        ['S1', 'Hello, world.'],
        ['S2', 'Bună ziua!'],
      ],
    );
    assert.equal(found.language, 'de');
  });
});
