import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { testDns } from '../../kernel/outside/outbound.dns.testing.ts';
import { namesOfCorpus, refusedUrls } from '../../kernel/outside/outbound.testing.ts';
import { http, openTest } from '../../testing.ts';
import { jsonAnswer, openWeb } from './tools.testing.ts';

/** Listens on a port of this machine's two loopback addresses, and counts who comes. */
async function openCanary() {
  const servers: Server[] = [];
  const canary = { connections: 0, port: 0 };
  for (const host of ['127.0.0.1', '::1']) {
    const server = createServer((socket) => {
      canary.connections += 1;
      socket.on('error', () => {});
      socket.end('HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\ncanary');
    });
    server.listen(canary.port, host);
    await once(server, 'listening');
    canary.port = (server.address() as AddressInfo).port;
    servers.push(server);
  }
  return Object.assign(canary, {
    async [Symbol.asyncDispose]() {
      for (const server of servers) await new Promise((closed) => server.close(closed));
    },
  });
}

/** A name that is public when it is first asked for, and this machine ever after. */
const rebinding = { 'rebind.test': (time: number) => [time <= 1 ? '198.41.0.4' : '127.0.0.1'] };

/** A gateway with a name server of its own, a web on 127.0.0.2 that it may reach, and a canary that it may not. */
async function openCorpus() {
  await using opening = new AsyncDisposableStack();
  const canary = opening.use(await openCanary());
  const web = opening.use(await openWeb());
  const names = opening.use(await testDns({ ...namesOfCorpus, ...rebinding }));
  const folder = mkdtempSync(join(tmpdir(), 'svc-providers-'));
  opening.defer(() => rmSync(folder, { recursive: true }));
  const providers = join(folder, 'providers.json');
  const source = { id: 'searxng', kind: 'searxng', base_url: web.url('') };
  writeFileSync(providers, JSON.stringify({ search: [source] }));
  const t = opening.use(
    await openTest({
      settings: {
        SVC_PROVIDERS: providers,
        SVC_RATE_SEARCH: '100000',
        SVC_FETCH_ALLOW_HOSTS: '127.0.0.2',
        SVC_FETCH_PORTS: `80,443,${web.port},${canary.port}`,
        SVC_DNS_SERVERS: names.address,
        SVC_RATE_FETCH: '100000',
      },
    }),
  );
  const fetch = async (url: string) =>
    http(t.gateway.url, '/v1/tools/fetch', { method: 'POST', key: t.account.key, body: { url } });
  const stack = opening.move();
  return { canary, web, names, t, fetch, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

describe('an address that is not public', () => {
  test('is refused in one and the same words, asked for or redirected to, and nobody is connected to', {
    timeout: 240_000,
  }, async () => {
    await using c = await openCorpus();
    const urls = refusedUrls.filter((url) => url !== '').map((url) => url.replaceAll('PORT', String(c.canary.port)));
    assert.ok(urls.length >= 100);
    const wrong: string[] = [];
    const messages = new Set<string>();
    const look = async (url: string, what: string): Promise<void> => {
      const { status, body } = await c.fetch(url);
      if (status !== 400 || body.error.code !== 'bad_request') wrong.push(`${what}: ${status} ${body.error?.code}`);
      // What has no scheme is told so, which says nothing of a network.
      else if (/^[a-z][a-z\d+-]*:/i.test(url)) messages.add(body.error.message);
      else assert.match(body.error.message, /^url: must be a whole address/);
    };
    for (const url of urls) await look(url, url);
    // Not all texts are addresses once they are relative to the page, nor may all stand in a header.
    const targets = urls.filter(
      (url) =>
        /^(?!http:\/?[^/])(?:[a-z]+:|\/\/)/i.test(url) &&
        URL.canParse(url, 'http://a.test') &&
        /^[\x20-\x7e]+$/.test(url),
    );
    for (const [index, location] of targets.entries()) {
      const status = [301, 302, 303, 307, 308][index % 5] ?? 302;
      c.web.on(`/to/${index}`, (_request, response) => response.writeHead(status, { location }).end());
      c.web.on(`/far/${index}`, (_request, response) => response.writeHead(status, { location: `/to/${index}` }).end());
      await look(c.web.url(`/${index % 2 === 0 ? 'to' : 'far'}/${index}`, '127.0.0.2'), `${status} ${location}`);
    }
    assert.deepEqual(wrong, []);
    assert.equal(messages.size, 1);
    assert.equal(c.canary.connections, 0);
    assert.ok(c.names.asked('only6.test', 'AAAA') > 0, 'the name server was asked');
  });

  test('is not reached by a name that changes its answer, before or after it was judged', async () => {
    await using c = await openCorpus();
    const url = `http://rebind.test:${c.canary.port}/`;
    c.web.on('/to', (_request, response) => response.writeHead(302, { location: url }).end());
    // Public when it is judged; that address is not to be reached from a test.
    assert.equal((await c.fetch(url)).status, 502);
    assert.equal(c.names.asked('rebind.test', 'A'), 1, 'the connection asks for no name');
    assert.equal((await c.fetch(url)).status, 400, 'judged anew the next time');
    assert.equal((await c.fetch(c.web.url('/to', '127.0.0.2'))).status, 400, 'and at each redirect');
    assert.equal(c.canary.connections, 0);
  });

  test('is no result of a search either, whoever names it', async () => {
    await using c = await openCorpus();
    const urls = refusedUrls.map((url) => url.replaceAll('PORT', String(c.canary.port)));
    const ask = async (from: number) =>
      (
        await http(c.t.gateway.url, '/v1/tools/search', {
          method: 'POST',
          key: c.t.account.key,
          body: { query: `canary ${from}`, limit: 20 },
        })
      ).body;
    for (let from = 0; from < urls.length; from += 20) {
      const results = urls.slice(from, from + 20).map((url) => ({ url, title: 'canary', content: 'canary' }));
      c.web.on('/search', jsonAnswer({ results }));
      const body = await ask(from);
      assert.deepEqual([body.results, body.degraded], [[], []]);
    }
    assert.equal(c.canary.connections, 0);
  });
});
