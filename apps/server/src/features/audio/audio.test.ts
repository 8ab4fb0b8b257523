import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import OpenAI, { toFile } from 'openai';
import { testClock } from '../../kernel/base/clock.ts';
import { shared } from '../../testing.shared.ts';
import { createAccount, http, openTest, type TestAccount, until } from '../../testing.ts';
import { answers, providersFile, replies, TestProvider } from '../inference/inference.testing.ts';

describe('audio, and tokens for it', () => {
  const clock = testClock();
  const provider = new TestProvider();
  const { gateway } = shared(async () => {
    await using opening = new AsyncDisposableStack();
    const { url } = await opening.use(provider).listen();
    const lanes = [
      { id: 'down', kind: 'openai', base_url: `${url}/down/v1`, models: ['ears-1', 'voice-1', 'vectors-1'] },
      {
        id: 'sound',
        kind: 'openai',
        base_url: `${url}/v1`,
        models: [{ name: 'ears-1', as: 'whisper' }, 'voice-1', 'vectors-1'],
        priority: 2,
      },
    ];
    const file = opening.use(providersFile({ lanes }));
    const t = opening.use(await openTest({ clock, settings: { SVC_PROVIDERS: file.path } }));
    const all = opening.move();
    return { ...t, [Symbol.asyncDispose]: () => all.disposeAsync() };
  });
  let account: TestAccount;
  const speech = Buffer.alloc(300_000, 'mp3');
  beforeEach(async () => {
    account = await createAccount(gateway);
    provider.taken.length = 0;
    clock.advance(600_000);
    provider.script = (response, taken) => {
      if (taken.path.startsWith('/down/')) return replies({}, 500)(response, taken);
      if (taken.path === '/v1/audio/speech')
        return void response.writeHead(200, { 'content-type': 'audio/mpeg' }).end(speech);
      if (taken.path === '/v1/embeddings') return replies({ model: 'vectors-1', data: [] })(response, taken);
      if (taken.path.startsWith('/v1/audio/')) return replies({ text: 'Bună ziua.' })(response, taken);
      return replies(answers.chat.whole)(response, taken);
    };
  });
  const clientOf = (apiKey: string) => new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0 });
  const wave = () => toFile(Buffer.from('RIFF-of-the-test'), 'ș.wav', { type: 'audio/wav' });
  const mint = async (scope: string, ttl = 60) =>
    http(gateway.url, '/v1/tokens', { key: account.key, body: { scope, ttl } });

  test('a form reaches the next lane when the first fails, with its file, its other fields, and the name of its model', async () => {
    const client = clientOf(account.key);
    const { text } = await client.audio.transcriptions.create({ file: await wave(), model: 'ears-1', language: 'ro' });
    assert.equal(text, 'Bună ziua.');
    const { raw, path } = provider.taken.at(-1) ?? assert.fail();
    assert.equal(path, '/v1/audio/transcriptions');
    for (const part of ['RIFF-of-the-test', 'ș.wav', 'audio/wav', 'whisper', 'name="language"\r\n\r\nro'])
      assert.ok(raw.includes(part), part);
    assert.ok(!raw.includes('ears-1'));
    assert.equal((await client.audio.translations.create({ file: await wave(), model: 'ears-1' })).text, 'Bună ziua.');
  });

  test('speech comes back byte for byte', async () => {
    const answer = await clientOf(account.key).audio.speech.create({ model: 'voice-1', input: 'x', voice: 'alloy' });
    assert.deepEqual(Buffer.from(await answer.arrayBuffer()), speech);
    assert.equal(answer.headers.get('content-type'), 'audio/mpeg');
  });

  test('an account keeps no more than 25 MiB of forms in memory at once, and gets the room back', async () => {
    let answerHeld = (): void => {};
    provider.script = (response, taken) => {
      answerHeld = () => void replies({ text: 'late' })(response, taken);
    };
    const send = async (mebibytes: number) => {
      const form = new FormData();
      form.set('model', 'ears-1');
      form.set('file', new File([Buffer.alloc(mebibytes * 1024 * 1024)], 'a.wav'));
      const headers = { authorization: `Bearer ${account.key}` };
      const answer = await fetch(`${gateway.url}/v1/audio/transcriptions`, { method: 'POST', headers, body: form });
      await answer.arrayBuffer();
      return answer.status;
    };
    const first = send(15);
    await until(() => provider.taken.length === 1);
    assert.equal(await send(15), 429);
    answerHeld();
    assert.equal(await first, 200);
    const again = send(15);
    await until(() => provider.taken.length === 2);
    answerHeld();
    assert.equal(await again, 200);
  });

  test('what is no form, or lacks a file or a model, is refused with what to send', async () => {
    const ask = async (body: FormData | string, type?: string) => {
      const headers = { authorization: `Bearer ${account.key}`, ...(type && { 'content-type': type }) };
      const answer = await fetch(`${gateway.url}/v1/audio/transcriptions`, { method: 'POST', headers, body });
      return [answer.status, ((await answer.json()) as { error: { message: string } }).error.message] as const;
    };
    assert.match((await ask('{}', 'application/json')).join(), /^400,.*multipart/);
    assert.match((await ask('rubbish', 'multipart/form-data; boundary=x')).join(), /^400,/);
    const form = new FormData();
    form.set('file', new File(['x'], 'a.wav'));
    assert.match((await ask(form)).join(), /^400,model/);
    form.set('model', 'ears-1');
    form.set('file', 'no file');
    assert.match((await ask(form)).join(), /^400,file/);
  });

  test('a form of more parts, or longer values, than speech needs is refused, at the part that is too many', async () => {
    const part = (name: string, value: string, more = '') =>
      `--x\r\ncontent-disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`;
    const file = part('file', 'RIFF', '; filename="a.wav"');
    const send = async (...parts: string[]) => {
      const headers = { authorization: `Bearer ${account.key}`, 'content-type': 'multipart/form-data; boundary=x' };
      const body = `${parts.join('')}--x--\r\n`;
      const answer = await fetch(`${gateway.url}/v1/audio/transcriptions`, { method: 'POST', headers, body });
      return [answer.status, ((await answer.json()) as { error: { message: string } }).error.message] as const;
    };
    const model = part('model', 'ears-1');
    const cases = [
      [model, file, part('a', 'b').repeat(200_000)],
      [model, file, part('prompt', 'x'.repeat(300_000))],
      [model, file, file],
    ];
    for (const parts of cases) assert.match((await send(...parts)).join(), /^400,a form has one file and 20 parts/);
    assert.equal(provider.taken.length, 0);
  });

  test('a token is good for its kind of route, until its end, and no longer than its key', async () => {
    const { status, body } = await mint('audio');
    assert.deepEqual(
      [status, body.scope, Date.parse(body.expires_at)],
      [201, 'audio', Math.floor(clock.now() / 1000) * 1000 + 60_000],
    );
    const speak = () => clientOf(body.token).audio.speech.create({ model: 'voice-1', input: 'x', voice: 'alloy' });
    await speak();
    const vectors = (key: string) =>
      http(gateway.url, '/v1/embeddings', { key, body: { model: 'vectors-1', input: 'x' } });
    assert.equal((await vectors(body.token)).status, 401);
    assert.equal((await vectors((await mint('embeddings')).body.token)).status, 200);
    assert.equal((await http(gateway.url, '/v1/keys', { key: body.token })).status, 401);
    const forged = `${body.token.slice(0, -1)}${body.token.endsWith('A') ? 'B' : 'A'}`;
    assert.equal((await vectors(forged)).status, 401);
    clock.advance(61_000);
    await assert.rejects(speak(), { status: 401 });
    const fresh = await mint('audio');
    await http(gateway.url, `/v1/keys/${account.keyId}`, {
      method: 'PATCH',
      key: account.key,
      body: { status: 'paused' },
    });
    await assert.rejects(
      clientOf(fresh.body.token).audio.speech.create({ model: 'voice-1', input: 'x', voice: 'alloy' }),
      { status: 401 },
    );
  });

  test('a key gives no token of what it may not do, and no token of a time beyond an hour', async () => {
    const narrow = { name: 'narrow', scopes: ['tokens'] };
    const { key } = (await http(gateway.url, '/v1/keys', { key: account.key, body: narrow })).body;
    assert.equal((await http(gateway.url, '/v1/tokens', { key, body: { scope: 'audio' } })).status, 403);
    for (const ttl of [29, 3_601, 60.5]) assert.equal((await mint('audio', ttl)).status, 400);
    assert.equal((await mint('chat')).status, 400);
  });

  test('tokens of sound that are no whole number harm no receipt', async () => {
    provider.script = replies({ text: 'Da.', usage: { type: 'tokens', input_tokens: 14.5, output_tokens: 1e30 } });
    const form = new FormData();
    form.set('model', 'voice-1');
    form.set('file', new File([Buffer.alloc(2_000)], 'a.wav'));
    const headers = { authorization: `Bearer ${account.key}`, 'x-request-id': 'sound-1' };
    const answer = await fetch(`${gateway.url}/v1/audio/transcriptions`, { method: 'POST', headers, body: form });
    assert.equal(answer.status, 200);
    const path = '/v1/receipt?trace_id=sound-1';
    await until(async () => {
      clock.advance(1_000);
      return (await http(gateway.url, path, { key: account.key })).status === 200;
    });
    const { usage } = (await http(gateway.url, path, { key: account.key })).body;
    assert.deepEqual([usage.input_tokens, usage.output_tokens], [15, 1_000_000_000]);
  });
});
