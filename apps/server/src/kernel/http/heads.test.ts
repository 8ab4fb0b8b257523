import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { describe, test } from 'node:test';
import { shared } from '../../testing.shared.ts';
import { openTest } from '../../testing.ts';

/** The answer that a raw connection gets. */
async function ask(url: string, text: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  let answer = '';
  socket.setEncoding('utf8').on('data', (chunk) => void (answer += chunk));
  socket.on('close', () => resolve(answer)).on('error', () => resolve(answer));
  socket.write(text);
  return promise;
}

describe('heads of requests', () => {
  const names = { SVC_BASE_URL: 'https://svc.example.com', SVC_HOST_NAMES: 'Gateway, other.test' };
  const named = shared(() => openTest({ settings: names }));
  const plain = shared(() => openTest());
  const get = (url: string, ...hosts: string[]) =>
    ask(url, `GET /health HTTP/1.1\r\n${hosts.map((host) => `Host: ${host}\r\n`).join('')}connection: close\r\n\r\n`);
  const statusOf = (answer: string) => Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]);

  test('two Host headers are refused, whatever they say', async () => {
    for (const { gateway } of [plain, named]) {
      assert.equal(statusOf(await get(gateway.url, 'localhost', 'localhost')), 400);
      assert.equal(statusOf(await get(gateway.url, 'localhost', 'evil.test')), 400);
      assert.equal(statusOf(await get(gateway.url, 'localhost')), 200);
    }
  });

  test('an installation that has a name answers to its names and to addresses, others get 421; one without to any', async () => {
    const { url } = named.gateway;
    const own = [
      'svc.example.com',
      'SVC.example.com:443',
      'gateway:8787',
      'other.test',
      'localhost:9',
      '10.1.2.3',
      '[::1]:80',
    ];
    for (const host of own) assert.equal(statusOf(await get(url, host)), 200, host);
    for (const host of ['evil.test', 'svc.example.com.evil.test', 'example.com', '1.2.3.4.evil.test', '']) {
      const answer = await get(url, host);
      assert.equal(statusOf(answer), 421, host);
      assert.match(answer, /"code":"misdirected_request"/);
    }
    assert.equal(statusOf(await get(plain.gateway.url, 'evil.test')), 200);
  });

  test('a head that does not come to its end within 10 s ends its connection', () => {
    assert.equal(plain.gateway.app.http.server.headersTimeout, 10_000);
  });
});
