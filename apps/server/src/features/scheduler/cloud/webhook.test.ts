import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { HttpTaskError, parseSpec } from '@svc/http-task';
import { execute } from '../../../../../host/src/runs/execute.ts';
import { systemClock } from '../../../kernel/base/clock.ts';
import { createOutbound, OutboundError } from '../../../kernel/outside/outbound.ts';
import { trustCertificate } from '../../../testing.tls.ts';
import { callWebhook } from './webhook.ts';

interface Said {
  ok: boolean;
  error: string | undefined;
  text: string;
}

describe('an http spec is one request, in the cloud and on a host', () => {
  const opened = new DisposableStack();
  const arrivals = new EventEmitter();
  let arrived: unknown[] = [];
  let url = '';
  before(async () => {
    const { key, cert } = opened.use(trustCertificate());
    const server = createServer({ key, cert }, (request, response) => {
      let body = '';
      request.on('data', (chunk) => (body += String(chunk)));
      request.on('end', () => {
        // The connection is the transport's.
        const { connection: _, ...headers } = request.headers;
        arrived.push([request.method, request.url, headers, body]);
        arrivals.emit('request');
        const { pathname, searchParams } = new URL(request.url ?? '', url);
        const location = searchParams.get('to') ?? undefined;
        if (pathname === '/slow') return;
        if (pathname === '/echo') response.end(JSON.stringify(headers, Object.keys(headers).toSorted()));
        else if (pathname === '/zip') response.setHeader('content-encoding', 'gzip').end(gzipSync('unpacked'));
        else if (pathname === '/odd') response.setHeader('content-encoding', 'odd').end('x');
        else if (pathname === '/broken') response.socket?.end('no HTTP\r\n\r\n');
        else if (pathname === '/long') response.end(`${'x'.repeat(1_048_575)}țrest`);
        else if (pathname === '/loop') response.writeHead(302, { location: '/loop' }).end();
        else response.writeHead(Number(pathname.slice(1)), location === undefined ? {} : { location }).end('said');
      });
    });
    opened.defer(() => {
      server.closeAllConnections();
      server.close();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => opened.dispose());

  const inCloud = async (spec: object, timeoutMs = 60_000): Promise<Said> => {
    const rules = { fetchAllowHosts: ['127.0.0.1'], fetchPorts: [443, 1, Number(new URL(url).port)] };
    const kernel = { clock: systemClock, outbound: createOutbound(rules, systemClock) };
    try {
      const { ok, error, text } = await callWebhook(kernel, parseSpec(spec), timeoutMs, new AbortController().signal);
      return { ok, error, text };
    } catch (error) {
      assert.ok(error instanceof OutboundError || error instanceof HttpTaskError, String(error));
      return { ok: false, error: error.message, text: '' };
    }
  };
  const onHost = async (spec: object, signal = new AbortController().signal): Promise<Said> => {
    const task = { id: 'r', attempt: 1, schedule_id: 's', kind: 'http', spec, command_hash: undefined };
    const machine = { key: 'key-of-the-host', killAfterMs: 0 };
    const execution = { machine, signal, onTail: () => {}, onStarted: async () => {} };
    const { ok, error, log_tail } = await execute(task as never, execution as never, assert.fail);
    return { ok, error, text: log_tail ?? '' };
  };

  const both = async (spec: object) => {
    const ways = [];
    for (const way of [inCloud, onHost]) {
      arrived = [];
      const said = await way(spec);
      // The end of a log is as long as the side that keeps it says.
      ways.push({ said: { ...said, text: said.text.slice(-60_000) }, arrived });
    }
    assert.deepEqual(ways[0], ways[1], JSON.stringify(spec));
    return { ...ways[0]?.said, arrived } as Said & { arrived: [string, string, Record<string, string>, string][] };
  };

  test('the same list of specs arrives, and is answered, the same', async () => {
    const specs = [
      {},
      ...['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'].flatMap((method) => [
        { method },
        { method, body: '{"a":1}' },
        { method, body: 'ț', headers: { 'X-Mark': 'm', Accept: 'text/plain' } },
      ]),
      { body: '' },
      { body: '[1]', headers: { 'Content-Type': 'text/x-own', 'User-Agent': 'own' } },
      { body: '{broken' },
      { path: '/204' },
      { path: '/500' },
      { path: '/404', expect_status: 404 },
      { path: '/200', expect_status: 201 },
      { path: '/echo', headers: { Authorization: 'Bearer echoed-secret', 'x-a': 'quo"ted-secret' } },
      { path: '/zip' },
      { path: '/odd' },
      { path: '/broken' },
      { path: '/long' },
      { path: '/loop' },
      ...[301, 302, 303, 307, 308].flatMap((status) => [
        { path: `/${status}?to=/200`, body: '{}', headers: { 'x-own-value': 'a-secret-1' } },
        { path: `/${status}?to=/200`, method: 'PUT', body: 'x' },
      ]),
      { path: '/302' },
      { path: '/302?to=http://127.0.0.1/' },
      { path: '/302?to=https://user:pass@127.0.0.1/' },
      { path: '/302?to=/200', expect_status: 301 },
      { url: 'https://127.0.0.1:1/' },
      { url: 'https://user:pass@127.0.0.1/' },
      { url: 'http://127.0.0.1/' },
    ];
    for (const { path = '/200', ...spec } of specs as { path?: string }[]) await both({ url: url + path, ...spec });
  });

  test('a body goes out with GET, as JSON where it is, and svc says who it is', async () => {
    const { arrived, ok } = await both({ url: `${url}/200`, method: 'GET', body: '{"a":1}' });
    const [method, , headers, body] = arrived[0] ?? assert.fail('nothing arrived');
    assert.deepEqual(
      [ok, method, body, headers['content-type'], headers['user-agent'], headers['content-length']],
      [true, 'GET', '{"a":1}', 'application/json', 'svc', '7'],
    );
    const plain = await both({ url: `${url}/200`, body: '{broken' });
    assert.equal(plain.arrived[0]?.[2]['content-type'], 'text/plain; charset=utf-8');
  });

  test('an expected redirect is a success and is not followed', async () => {
    const { ok, arrived } = await both({ url: `${url}/302?to=/200`, expect_status: 302 });
    assert.deepEqual([ok, arrived.length], [true, 1]);
  });

  test('who answers too late is told in one word', async () => {
    const spec = { url: `${url}/slow` };
    assert.deepEqual(await inCloud(spec, 300), { ok: false, error: 'timeout', text: '' });
    const ended = new AbortController();
    arrivals.once('request', () => ended.abort('timeout'));
    assert.deepEqual(await onHost(spec, ended.signal), { ok: false, error: 'timeout', text: '' });
  });
});
