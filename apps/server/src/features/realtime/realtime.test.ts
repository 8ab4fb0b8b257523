import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { describe, test } from 'node:test';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import OpenAI from 'openai';
import { OpenAIRealtimeWebSocket } from 'openai/realtime/websocket';
import { OpenAIRealtimeWS } from 'openai/realtime/ws';
import { WebSocket } from 'ws';
import { shared } from '../../testing.shared.ts';
import { type TrustedCertificate, trustCertificate } from '../../testing.tls.ts';
import { createAccount, http, openTest, until } from '../../testing.ts';
import { providersFile } from '../inference/inference.testing.ts';
import { TestRealtime, usage } from './realtime.testing.ts';

/** TLS before a gateway. */
async function openProxy({ key, cert }: TrustedCertificate, to: string) {
  const sockets = new Set<TLSSocket>();
  const server = createTlsServer({ key, cert }, (socket) => {
    sockets.add(socket);
    const inner = connect(Number(new URL(to).port), '127.0.0.1');
    for (const one of [socket, inner]) one.on('error', () => {});
    socket.pipe(inner).pipe(socket);
    socket.once('close', () => inner.destroy());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

describe('realtime', () => {
  const provider = new TestRealtime();
  const dead = new TestRealtime();
  const { gateway, secure } = shared(async () => {
    await using opening = new AsyncDisposableStack();
    await opening.use(provider).listen();
    await opening.use(dead).listen();
    dead.refuses = 503;
    process.env['TEST_REALTIME_KEY'] = 'lane-secret';
    opening.defer(() => void delete process.env['TEST_REALTIME_KEY']);
    const lane = { kind: 'openai', models: [{ name: 'voice', as: 'gpt-realtime' }], api_key_env: 'TEST_REALTIME_KEY' };
    const file = opening.use(
      providersFile({
        lanes: [
          { ...lane, id: 'dead', base_url: dead.url, priority: 1 },
          { ...lane, id: 'alive', base_url: provider.url, priority: 2 },
          { ...lane, id: 'only-dead', base_url: dead.url, models: ['gone'] },
          { ...lane, id: 'claude', kind: 'anthropic', base_url: dead.url, models: ['words'] },
        ],
      }),
    );
    const t = opening.use(await openTest({ settings: { SVC_PROVIDERS: file.path } }));
    // Clients of OpenAI's speak to nothing without TLS; in front of a gateway there is mostly a proxy that has it.
    const secure = opening.use(await openProxy(opening.use(trustCertificate()), t.gateway.url));
    const all = opening.move();
    return { ...t, secure, [Symbol.asyncDispose]: () => all.disposeAsync() };
  });
  const url = (query = '?model=voice'): string => `${gateway.url.replace('http', 'ws')}/v1/realtime${query}`;
  /** Opens a socket; answers what it hears. */
  async function open(key: string, query?: string, protocols: string[] = []) {
    const socket = new WebSocket(
      url(query),
      protocols,
      key === '' ? {} : { headers: { authorization: `Bearer ${key}` } },
    );
    const heard: Record<string, unknown>[] = [];
    socket.on('message', (data: Buffer) => heard.push(JSON.parse(data.toString()) as Record<string, unknown>));
    const closed = once(socket, 'close').then(([code]) => code as number);
    await once(socket, 'open');
    const say = (event: object): void => socket.send(JSON.stringify(event));
    const hears = (type: string) => until(() => heard.some((event) => event['type'] === type));
    return { socket, heard, say, hears, closed, [Symbol.dispose]: () => socket.terminate() };
  }
  /** The status and code of a refusal. */
  async function refusal(key: string, query?: string, protocols?: string[]): Promise<[number, string]> {
    const socket = new WebSocket(
      url(query),
      protocols ?? [],
      key === '' ? {} : { headers: { authorization: `Bearer ${key}` } },
    );
    socket.on('error', () => {});
    const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
    const chunks = await response.toArray();
    return [response.statusCode ?? 0, JSON.parse(Buffer.concat(chunks).toString()).error.code];
  }

  for (const kind of ['ws', 'browser'] as const) {
    test(`the client of OpenAI (${kind}) talks with the lane that is alive, under the name that the lane wants`, async () => {
      const { key } = await createAccount(gateway);
      const token = (await http(gateway.url, '/v1/tokens', { key, body: { scope: 'realtime' } })).body.token as string;
      const apiKey = kind === 'ws' ? key : token;
      const client = new OpenAI({ baseURL: `${secure.url}/v1`, apiKey, dangerouslyAllowBrowser: true });
      const Client = kind === 'ws' ? OpenAIRealtimeWS : OpenAIRealtimeWebSocket;
      const talk = new Client({ model: 'voice' }, client);
      const done = Promise.withResolvers<unknown>();
      talk.on('error', done.reject);
      talk.on('session.created', () => {
        talk.send({
          type: 'session.update',
          session: { type: 'realtime', model: 'other', instructions: 'Short.' } as never,
        });
        talk.send({ type: 'response.create' });
      });
      talk.on('response.done', ({ response }) => done.resolve(response.usage));
      assert.deepEqual(await done.promise, usage);
      talk.close();
      const { url: asked, headers } = provider.requests.at(-1) ?? assert.fail('nobody came');
      assert.match(asked ?? '', /^\/v1\/realtime\?model=gpt-realtime$/);
      assert.equal(headers.authorization, 'Bearer lane-secret');
      const update = provider.heard.findLast(({ type }) => type === 'session.update');
      assert.deepEqual(update?.['session'], { type: 'realtime', model: 'gpt-realtime', instructions: 'Short.' });
      await until(() => provider.sockets.size === 0);
    });
  }

  test('no form of a message changes the model that the key was judged by', async () => {
    const { key } = await createAccount(gateway);
    using talk = await open(key);
    await talk.hears('session.created');
    const before = provider.heard.length;
    const update = '{"type":"session.update","session":{"model":"other"}}';
    talk.socket.send(Buffer.from(update), { binary: true });
    talk.socket.send('{"type":"session.update","session":{"model":"x","model":"other"}}');
    talk.socket.send('{"type":"session.update","session":{"mod\\u0065l":"other"}}');
    await until(() => provider.heard.length === before + 3);
    for (const { session } of provider.heard.slice(before)) assert.deepEqual(session, { model: 'gpt-realtime' });
  });

  test('a field that names another model is judged by the list of the key, and nothing goes on of a message with a name twice', async () => {
    const { key: own } = await createAccount(gateway);
    const body = { name: 'listed', models: ['voice', 'ears'] };
    const { key } = (await http(gateway.url, '/v1/keys', { key: own, body })).body;
    const model = (name: string) => JSON.stringify({ input_audio_transcription: { model: name } });
    using listed = await open(key);
    await listed.hears('session.created');
    const before = provider.heard.length;
    listed.socket.send(`{"type":"session.update","session":${model('ears')}}`);
    await until(() => provider.heard.length === before + 1);
    const messages = [
      `{"type":"session.update","session":${model('big')}}`,
      `{"type":"session.update","session":{"audio":{"input":{"transcription":{"model":"big"}}}}}`,
      `{"type":"transcription_session.update","session":${model('b\\u0069g')}}`,
      `{"type":"response.create","response":{"model":"big"}}`,
      `{"type":"x","session":{"model":"voice"},"typ\\u0065":"session.update"}`,
    ];
    for (const message of messages) {
      using talk = await open(key);
      await talk.hears('session.created');
      talk.socket.send(message);
      const [code] = (await once(talk.socket, 'close')) as [number];
      assert.equal(code, 1008, message);
    }
    assert.equal(provider.heard.length, before + 1);
  });

  test('a message of over 1 MiB ends its session', async () => {
    const { key } = await createAccount(gateway);
    using talk = await open(key);
    await talk.hears('session.created');
    const before = provider.heard.length;
    const append = (bytes: number) => JSON.stringify({ type: 'input_audio_buffer.append', audio: 'A'.repeat(bytes) });
    talk.socket.send(append(1_000_000));
    await until(() => provider.heard.length === before + 1);
    talk.socket.send(append(1_100_000));
    const [code] = (await once(talk.socket, 'close')) as [number];
    assert.equal(code, 1009);
  });

  test('each response is billed by its usage, sound at its own price', async () => {
    const { key } = await createAccount(gateway);
    const socket = new WebSocket(url(), { headers: { authorization: `Bearer ${key}`, 'x-request-id': 'talk-1' } });
    socket.on('open', () => socket.send('{"type":"response.create"}'));
    socket.on('message', (data: Buffer) => data.includes('response.done') && socket.close());
    await once(socket, 'close');
    const path = '/v1/receipt?trace_id=talk-1';
    await until(async () => (await http(gateway.url, path, { key })).status === 200);
    const { body } = await http(gateway.url, path, { key });
    // 4 of text at 4 USD and 16 of sound at 32 in, 2 at 16 and 8 at 64 out; a million tokens each.
    assert.deepEqual(
      [body.usage.input_tokens, body.usage.output_tokens, body.cost_micro_usd],
      [20, 10, 16 + 512 + 32 + 512],
    );
  });

  test('a key at its cap hears why, and its socket closes', async () => {
    const owner = await createAccount(gateway);
    const body = { name: 'capped', spend_cap_micro_usd: 100 };
    const { key } = (await http(gateway.url, '/v1/keys', { key: owner.key, body })).body;
    using talk = await open(key);
    talk.say({ type: 'response.create' });
    assert.equal(await talk.closed, 1008);
    assert.match(JSON.stringify(talk.heard.at(-1)), /spend cap/);
    assert.deepEqual(await refusal(key), [429, 'quota_exceeded']);
  });

  test('a key that is revoked takes its sockets with it', async () => {
    const owner = await createAccount(gateway);
    const { key, id } = (await http(gateway.url, '/v1/keys', { key: owner.key, body: { name: 'short' } })).body;
    using talk = await open(key);
    await talk.hears('session.created');
    await http(gateway.url, `/v1/keys/${id}`, { key: owner.key, method: 'DELETE' });
    assert.equal(await talk.closed, 1008);
    assert.match(JSON.stringify(talk.heard.at(-1)), /invalid_api_key/);
    await until(() => provider.sockets.size === 0);
  });

  test('who may not talk gets an ordinary refusal', async () => {
    const owner = await createAccount(gateway);
    const keyOf = async (fields: object): Promise<string> =>
      (await http(gateway.url, '/v1/keys', { key: owner.key, body: { name: 'x', ...fields } })).body.key;
    assert.deepEqual(await refusal('svc_wrong'), [401, 'invalid_api_key']);
    assert.deepEqual(await refusal(''), [401, 'invalid_api_key']);
    assert.deepEqual(await refusal(owner.key, ''), [400, 'bad_request']);
    assert.deepEqual(await refusal(owner.key, '?model=none'), [404, 'not_found']);
    assert.deepEqual(await refusal(owner.key, '?model=words'), [400, 'bad_request']);
    assert.deepEqual(await refusal(owner.key, '?model=gone'), [502, 'upstream_error']);
    assert.deepEqual(await refusal(await keyOf({ scopes: ['chat'] })), [403, 'forbidden']);
    assert.deepEqual(await refusal(await keyOf({ models: ['gone'] })), [403, 'forbidden']);
    const { token } = (await http(gateway.url, '/v1/tokens', { key: owner.key, body: { scope: 'audio' } })).body;
    assert.deepEqual(await refusal('', '?model=voice', ['realtime', `openai-insecure-api-key.${token}`]), [
      401,
      'invalid_api_key',
    ]);
    assert.deepEqual(await refusal('', `?model=voice&key=${owner.key}`), [401, 'invalid_api_key']);
    const plain = await http(gateway.url, '/v1/realtime?model=voice', { key: owner.key });
    assert.deepEqual([plain.status, plain.body.error.code], [400, 'bad_request']);
  });

  test('either side that leaves takes the other one with it, with its code', async () => {
    const { key } = await createAccount(gateway);
    using talk = await open(key);
    await talk.hears('session.created');
    for (const socket of provider.sockets) socket.close(4001, 'enough');
    assert.equal(await talk.closed, 4001);
    using other = await open(key);
    await other.hears('session.created');
    for (const socket of provider.sockets) socket.terminate();
    assert.equal(await other.closed, 1011);
    using third = await open(key);
    await third.hears('session.created');
    third.socket.terminate();
    await until(() => provider.sockets.size === 0);
  });

  test('a client that reads nothing holds the lane back, and the process keeps little for it', async () => {
    const { key } = await createAccount(gateway);
    using talk = await open(key);
    await talk.hears('session.created');
    talk.socket.pause();
    const [lane] = provider.sockets;
    const mib = 'x'.repeat(1024 * 1024);
    let sent = 0;
    for (let at = 0; at < 64; at++) lane?.send(JSON.stringify({ type: 'echo', mib }), () => sent++);
    await until(() => sent > 0);
    const before = sent;
    await http(gateway.url, '/health');
    assert.ok((lane?.bufferedAmount ?? 0) > 8 * 1024 * 1024, `only ${lane?.bufferedAmount} wait at the lane`);
    talk.socket.resume();
    await until(() => sent === 64 && talk.heard.length === 65);
    assert.ok(before < 64);
  });
});
