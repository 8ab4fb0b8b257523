import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { shared } from '../../testing.shared.ts';
import { openTest } from '../../testing.ts';

const page = 'https://app.example.test';
const settings = {
  SVC_CORS_ORIGINS: `${page}, http://localhost:3000`,
  SVC_BASE_URL: 'https://svc.example.test',
  SVC_QUOTA_KEYS: '1',
} as const;

describe('pages of origins that are named', () => {
  const { gateway, account } = shared(() => openTest({ settings }));
  const ask = (path: string, init: RequestInit = {}, origin = page) =>
    fetch(gateway.url + path, {
      ...init,
      headers: { authorization: `Bearer ${account.key}`, ...(init.headers as Record<string, string>), origin },
    });
  const corsOf = ({ headers }: Response) => [
    headers.get('access-control-allow-origin'),
    headers.get('vary'),
    headers.get('access-control-expose-headers'),
    headers.get('access-control-allow-credentials'),
  ];
  const open = [page, 'Origin', '*', null];
  const closed = [null, 'Origin', null, null];

  test('may read answers and refusals of every kind, a stream, and what no route takes', async () => {
    const json = { method: 'POST', headers: { 'content-type': 'application/json' } };
    const asked: [number, string, RequestInit?][] = [
      [200, '/v1/keys'],
      [200, '/health'],
      [200, '/openapi.json'],
      [400, '/v1/keys', { ...json, body: '{' }],
      [400, '/v1/%zz'],
      [401, '/v1/keys', { headers: { authorization: 'Bearer svc_wrong' } }],
      [404, '/v1/nothing'],
      [404, `/v1/keys/${randomUUID()}`],
      [413, '/v1/keys', { ...json, body: 'x'.repeat(13 * 1024 * 1024) }],
      [421, '/v1/keys', { headers: { host: 'elsewhere.example.test' } }],
      [429, '/v1/keys', { ...json, body: '{"name":"one more"}' }],
    ];
    for (const [status, path, init] of asked) {
      // fetch sends no Host of one's own.
      const answer = init?.headers && 'host' in init.headers ? await raw(path) : await ask(path, init);
      assert.deepEqual([answer.status, corsOf(answer)], [status, open], path);
      await answer.body?.cancel();
    }
    const stream = await ask('/v1/notifications/stream');
    assert.deepEqual([stream.status, corsOf(stream)], [200, open]);
    await stream.body?.cancel();
  });

  /** A request under another name. */
  async function raw(path: string): Promise<Response> {
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
    await once(socket, 'connect');
    socket.end(
      `GET ${path} HTTP/1.1\r\nhost: elsewhere.example.test\r\norigin: ${page}\r\nconnection: close\r\nauthorization: Bearer ${account.key}\r\n\r\n`,
    );
    const [first = '', ...lines] = (await text(socket)).split('\r\n\r\n')[0]?.split('\r\n') ?? [];
    const headers = lines.map((line) => line.split(': ', 2) as [string, string]);
    return new Response(null, { status: Number(first.split(' ')[1]), headers });
  }

  test('are told beforehand what they may send, on every route and without a key', async () => {
    for (const path of ['/v1/keys', '/v1/sandboxes/x/files/a/b', '/v1/nothing']) {
      const answer = await fetch(gateway.url + path, {
        method: 'OPTIONS',
        headers: {
          origin: page,
          'access-control-request-method': 'PATCH',
          'access-control-request-headers': 'authorization,idempotency-key',
        },
      });
      assert.deepEqual([answer.status, corsOf(answer)], [204, open], path);
      assert.equal(answer.headers.get('access-control-allow-headers'), 'authorization,idempotency-key');
      assert.match(answer.headers.get('access-control-allow-methods') ?? '', /PATCH/);
      assert.equal(answer.headers.get('access-control-allow-private-network'), null);
      assert.ok(answer.headers.get('x-svc-trace-id'));
    }
  });

  test('reach a gateway of their own network when they ask to', async () => {
    const headers = { 'access-control-request-method': 'GET', 'access-control-request-private-network': 'true' };
    const preflight = (origin: string) =>
      fetch(`${gateway.url}/v1/keys`, { method: 'OPTIONS', headers: { ...headers, origin } });
    const named = await preflight(page);
    assert.deepEqual([named.status, named.headers.get('access-control-allow-private-network')], [204, 'true']);
    const other = await preflight('https://other.example.test');
    assert.deepEqual([other.status, other.headers.get('access-control-allow-private-network')], [404, null]);
  });

  test('are no others: another page, another port and no page see nothing', async () => {
    for (const origin of ['https://other.example.test', 'http://localhost:3001', 'null', `${page}.evil.test`])
      assert.deepEqual(corsOf(await ask('/v1/keys', {}, origin)), closed, origin);
    const answer = await fetch(`${gateway.url}/health`);
    assert.deepEqual(corsOf(answer), closed);
  });

  test('change nothing of the routes that are open to every page', async () => {
    for (const path of ['/ping/nobody', '/badge/nobody.json']) {
      const answer = await ask(path);
      assert.deepEqual(corsOf(answer), ['*', null, null, null], path);
    }
  });
});

describe('without named origins', () => {
  const { gateway, account } = shared(() => openTest());

  test('no page may call, and an answer does not differ by page', async () => {
    const headers = { authorization: `Bearer ${account.key}`, origin: page };
    const answer = await fetch(`${gateway.url}/v1/keys`, { headers });
    const names = [...answer.headers.keys()].filter((name) => name === 'vary' || name.startsWith('access-control-'));
    assert.deepEqual(names, []);
    const method = { 'access-control-request-method': 'GET' };
    const preflight = await fetch(`${gateway.url}/v1/keys`, { method: 'OPTIONS', headers: { ...headers, ...method } });
    assert.equal(preflight.status, 404);
  });
});
