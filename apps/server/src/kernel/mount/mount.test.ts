import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { shared } from '../../testing.shared.ts';
import { http, until } from '../../testing.ts';
import { openFixture } from '../testing.fixture.ts';
import { mountRaw } from './raw.ts';

const key = 'any';

/** Frames or events of an answer, without the pings. */
const framesOf = (text: string): string[] => text.split('\n\n').filter((part) => part !== '' && !part.startsWith(':'));

describe('a route that is mounted', () => {
  const t = shared(() => openFixture());
  const url = () => t.server.url;
  const ask = (path: string, init: Parameters<typeof http>[2] = {}) => http(url(), path, { key, ...init });

  test('answers JSON with its own status, its headers and those of its feature', async () => {
    const { status, body, headers } = await ask('/v1/fixture/echo', { body: { text: 'hello' } });
    assert.deepEqual([status, body.text], [201, 'hello']);
    assert.deepEqual([headers.get('x-echo'), headers.get('x-fixture')], ['hello', 'yes']);
  });

  test('answers a repeat of an idempotent request with the same headers', async () => {
    const again = () =>
      ask('/v1/fixture/echo', { body: { text: 'once' }, headers: { 'idempotency-key': 'a repeat with headers' } });
    const [first, second] = [await again(), await again()];
    assert.equal(second.headers.get('idempotency-replayed'), 'true');
    assert.deepEqual([second.status, second.body, second.headers.get('x-echo')], [201, first.body, 'once']);
  });

  test('takes no body as an empty one, and names the fields that are wrong', async () => {
    assert.equal((await ask('/v1/fixture/echo', { method: 'POST' })).body.text, 'nothing');
    const { status, body } = await ask('/v1/fixture/echo', { body: { text: 'x'.repeat(11) } });
    assert.deepEqual([status, Object.keys(body.error.details.fieldErrors)], [400, ['text']]);
  });

  test('answers frames when it is asked for them, JSON else, and a repeat in the form that it asks for', async () => {
    const say = (accept: string, text = 'ab', id: string = randomUUID()) =>
      ask('/v1/fixture/say', { body: { text }, headers: { accept, 'idempotency-key': id } });
    const id = randomUUID();
    const streamed = await say('text/event-stream', 'ab', id);
    assert.match(streamed.headers.get('content-type') ?? '', /event-stream/);
    const parts = framesOf(streamed.body).map((part) => JSON.parse(part.slice('data: '.length)).type);
    assert.deepEqual(parts, ['part', 'part', 'end']);
    assert.deepEqual(framesOf((await say('text/event-stream', 'ab', id)).body), framesOf(streamed.body));
    assert.equal((await say('application/json', 'ab', id)).body.text, 'ab');
    const broken = framesOf((await say('text/event-stream', 'a!')).body).at(-1);
    assert.deepEqual(JSON.parse(String(broken).slice('data: '.length)).code, 'unavailable');
    assert.equal((await say('application/json', '!')).status, 503);
  });

  test('takes bytes of any type up to its limit, and the rest of the path with its slashes', async () => {
    const put = (raw: string) => ask('/v1/fixture/files/a/b%20c.txt', { method: 'PUT', raw });
    assert.deepEqual((await put('x'.repeat(1_000))).body, { path: 'a/b c.txt', bytes: 1_000 });
    assert.deepEqual([(await put('x'.repeat(1_001))).status], [413]);
  });

  test('takes anything from anyone, answers text, and reads no further than it keeps', async () => {
    for (const method of ['GET', 'POST']) {
      const raw = method === 'POST' ? '1234567' : undefined;
      const response = await fetch(`${url()}/fixture/word`, { method, ...(raw && { body: raw }) });
      assert.equal(await response.text(), `word ${raw ? '12345' : ''}`);
      assert.match(response.headers.get('content-type') ?? '', /^text\/plain/);
      assert.equal(response.headers.get('access-control-allow-origin'), '*');
    }
  });

  test('answers 204 without a body', async () => {
    const { status, body } = await ask('/v1/fixture/echo', { method: 'DELETE' });
    assert.deepEqual([status, body], [204, '']);
  });

  test('answers OPTIONS as its contract says, without a key', async () => {
    const answer = await fetch(`${url()}/v1/fixture/echo`, { method: 'OPTIONS' });
    assert.deepEqual([answer.status, answer.headers.get('x-takes'), await answer.text()], [204, 'text', '']);
    assert.equal(answer.headers.get('x-fixture'), 'yes');
  });

  test('wherever there is GET, HEAD answers the same head without a body, and leaves nothing open', async () => {
    const head = (path: string) => fetch(url() + path, { method: 'HEAD', headers: { authorization: 'Bearer any' } });
    const bytes = await head('/v1/fixture/files/abc');
    assert.deepEqual([bytes.status, bytes.headers.get('content-length'), await bytes.text()], [200, '3', '']);
    await until(() => t.openSources() === 0);
    const text = await head('/fixture/word');
    assert.deepEqual([text.status, await text.text()], [200, '']);
    const stream = await head('/v1/fixture/watch');
    assert.deepEqual([stream.status, stream.headers.get('content-type')], [200, 'text/event-stream']);
    assert.equal(await stream.text(), '');
    assert.equal(t.kernel.streams.count(), 0);
    assert.equal((await head('/v1/fixture/echo')).status, 404);
  });

  test('may refuse before it opens its stream, and sends events from then on', async () => {
    const refused = await ask('/v1/fixture/watch?refuse=yes');
    assert.deepEqual([refused.status, refused.body.error.code], [404, 'not_found']);
    const response = await fetch(`${url()}/v1/fixture/watch`, { headers: { authorization: 'Bearer any' } });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const { value } = await reader.read();
    assert.equal(new TextDecoder().decode(value), 'event: tick\ndata: {"n":1}\n\n');
    await reader.cancel();
    await until(() => t.kernel.streams.count() === 0);
  });

  test('is refused with 403 by the gate of its feature, before its body is looked at', async () => {
    t.turn('fixture', false);
    try {
      const before = t.calls();
      const { status, body } = await ask('/v1/fixture/echo', { raw: '{' });
      assert.deepEqual([status, body.error.code], [403, 'forbidden']);
      assert.equal(t.calls(), before);
    } finally {
      t.turn('fixture', true);
    }
  });
});

describe('a route of the relay', () => {
  test('is all that a process has which only relays, at the path of the relay, and no page', async () => {
    await using t = await openFixture({ serves: false, works: false, relays: true });
    const status = async (path: string) => (await http(t.server.url, path, { key })).status;
    // It asks for a WebSocket.
    assert.equal(await status('/relay/v1/fixture/one/carry'), 400);
    for (const path of ['/v1/fixture/one/carry', '/v1/fixture/watch', '/fixture/word', '/fixture-pages/a'])
      assert.equal(await status(path), 404, path);
  });

  test('is not at a process that does not relay, and at the root of a relay with a name of its own', async () => {
    const status = async ({ server }: { server: { url: string } }, path: string) =>
      (await http(server.url, path, { key })).status;
    await using gateway = await openFixture({ serves: true, works: true, relays: false });
    assert.equal(await status(gateway, '/relay/v1/fixture/one/carry'), 404);
    assert.equal(await status(gateway, '/fixture/word'), 200);
    await using named = await openFixture(undefined, { SVC_RELAY_URL: 'https://relay.example.com' });
    assert.equal(await status(named, '/v1/fixture/one/carry'), 400);
  });
});

describe('what a feature answers outside of the contract', () => {
  const t = shared(() => openFixture());
  const ask = (path: string, init: RequestInit = {}) => fetch(`${t.server.url}/fixture-pages/${path}`, init);

  test('gets every method below its prefix, its body unread, behind the checks that all requests share', async () => {
    for (const method of ['GET', 'POST', 'PATCH', 'DELETE', 'OPTIONS']) {
      const body = method === 'POST' || method === 'PATCH' ? 'x'.repeat(100_000) : undefined;
      const answer = await ask('a/%2Fb?c=d', { method, headers: { 'x-request-id': 'mine' }, ...(body && { body }) });
      assert.equal(await answer.text(), `${method} a/%2Fb ${body?.length ?? 0} 127.0.0.1`);
      assert.deepEqual([answer.status, answer.headers.get('content-type')], [203, 'text/html']);
      assert.equal(answer.headers.get('x-svc-trace-id'), 'mine');
    }
    assert.equal((await ask('', { method: 'HEAD' })).status, 203);
  });

  test('is a 500 without a word of why when it fails, and 503 once the gateway drains', async () => {
    const broken = await ask('broken');
    assert.deepEqual([broken.status, await broken.text()], [500, 'unexpected fault; try again\n']);
    t.drain();
    assert.equal((await ask('a')).status, 503);
  });

  test('is never below /v1, where the contract stands', () => {
    const mounted = (prefix: string) => mountRaw({} as never, t.kernel, () => false, { prefix, open: async () => {} });
    for (const prefix of ['/v1/', '/v1/x/', 'x/', '/x']) assert.throws(() => mounted(prefix), /raw route/, prefix);
  });
});
