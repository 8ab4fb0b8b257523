import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { brotliCompressSync, createGzip, deflateSync, gzipSync } from 'node:zlib';
import { systemClock, testClock } from '../base/clock.ts';
import { isPublicAddress } from '@svc/netguard';
import { namesOfCorpus, refusedUrls } from './outbound.testing.ts';
import { createOutbound, type Outbound, OutboundError } from './outbound.ts';

/** The names of these tests and their answers; `rebind.test` is public at first and this machine ever after. */
const names: Readonly<Record<string, readonly string[]>> = {
  ...namesOfCorpus,
  'zone.test': ['fe80::1%lo'],
  'cname.test': ['127.0.0.1'],
  'none.test': [],
  'garbage.test': ['not an address'],
};

describe('outbound', () => {
  let connections = 0;
  let port = 0;
  let answer: (request: IncomingMessage, response: ServerResponse) => void;
  const seen: IncomingMessage[] = [];
  const canary = createServer((request, response) => {
    seen.push(request);
    answer(request, response);
  });
  canary.on('connection', () => (connections += 1));
  let strict: Outbound;
  let allowing: Outbound;
  let rebound = 0;
  const resolve = async (host: string): Promise<string[]> => {
    if (host === 'rebind.test') return rebound++ === 0 ? ['8.8.8.8'] : ['127.0.0.1'];
    if (host === 'hangs.test') return new Promise(() => {});
    const known = names[host];
    if (!known) throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' });
    return [...known];
  };

  before(async () => {
    canary.listen(0, '127.0.0.1');
    await once(canary, 'listening');
    ({ port } = canary.address() as AddressInfo);
    const fetchPorts = [80, 443, port];
    strict = createOutbound({ fetchAllowHosts: [], fetchPorts }, systemClock, { public: resolve, here: resolve });
    allowing = createOutbound({ fetchAllowHosts: ['127.0.0.1', 'Loop.test', '::1'], fetchPorts }, systemClock, {
      public: resolve,
      here: resolve,
    });
  });
  after(() => {
    canary.closeAllConnections();
    canary.close();
  });
  const at = (path = '/', host = '127.0.0.1') => `http://${host}:${port}${path}`;
  const rejects = (work: Promise<unknown>, kind: string, what = '') =>
    assert.rejects(work, (error) => error instanceof OutboundError && error.kind === kind, what);

  test(`${refusedUrls.length} addresses and tricks are refused without a connection, in one and the same words`, async () => {
    connections = 0;
    const messages = new Set<string>();
    for (const url of refusedUrls.map((text) => text.replaceAll('PORT', String(port)))) {
      for (const work of [strict.request(url), strict.check(url)]) {
        const error: unknown = await work.then(
          () => undefined,
          (fault: unknown) => fault,
        );
        assert.ok(error instanceof OutboundError && error.kind === 'refused', `${url}: ${String(error)}`);
        messages.add(error.message);
      }
    }
    assert.equal(messages.size, 1);
    assert.equal(connections, 0);
    assert.ok(refusedUrls.length >= 60);
  });

  test('public addresses are judged public', () => {
    for (const address of ['8.8.8.8', '1.1.1.1', '172.32.0.1', '2606:4700:4700::1111', '2a00:1450:4001::200e']) {
      assert.equal(isPublicAddress(address), true, address);
    }
    for (const text of ['', 'localhost', '8.8.8.8%1', '08.8.8.8', '8.8.8', '2606:4700::1111%eth0']) {
      assert.equal(isPublicAddress(text), false, text);
    }
  });

  test('a name that changes its address between look-ups is asked for once, and connected to where it was judged', async () => {
    connections = 0;
    const outcome = await strict.request(`http://rebind.test:${port}/`, { timeoutMs: 400 }).catch((error) => error);
    assert.ok(outcome instanceof OutboundError && outcome.kind !== 'refused');
    assert.deepEqual([rebound, connections], [1, 0]);
  });

  test('a name without an address, with a wrong one, or that never answers fails in time', async () => {
    await rejects(strict.request('http://none.test/'), 'failed');
    await rejects(strict.request('http://garbage.test/'), 'failed');
    await rejects(strict.request('http://unknown.test/'), 'failed');
    const clock = testClock();
    const turned = createOutbound({ fetchAllowHosts: [], fetchPorts: [80] }, clock, { public: resolve, here: resolve });
    const late = rejects(turned.check('http://hangs.test/'), 'timeout');
    await nextTurn();
    clock.advance(5_000);
    await late;
  });

  test('hosts that the operator named are reached, by literal and by name, on allowed ports only', async () => {
    answer = (_, response) => response.end('hello');
    for (const url of [at('/x'), at('/x', 'loop.test'), at('/x', 'LOOP.test.')]) {
      const found = await allowing.request(url);
      assert.deepEqual([found.status, String(found.body), found.truncated], [200, 'hello', false], url);
    }
    await rejects(allowing.request('http://127.0.0.1:22/'), 'refused');
    await rejects(allowing.request(at('/x', 'localhost')), 'refused');
    await rejects(allowing.request(at(), { protocols: ['https:'] }), 'refused');
  });

  test('every hop of a redirect is judged whole', async () => {
    const strictly = createOutbound({ fetchAllowHosts: ['loop.test'], fetchPorts: [port] }, systemClock, {
      public: resolve,
      here: resolve,
    });
    for (const location of [
      at('/in'),
      'http://169.254.169.254/',
      'file:///etc/passwd',
      '//localhost/',
      'http://a@b.test/',
    ]) {
      seen.length = 0;
      answer = (_, response) => response.writeHead(302, { location }).end();
      await rejects(strictly.request(at('/out', 'loop.test')), 'refused', location);
      assert.equal(seen.length, 1, location);
    }
  });

  test('redirects are followed as browsers do: at most so many, headers of the caller stay at home, POST becomes GET', async () => {
    answer = (request, response) => {
      const left = Number(request.url?.slice(1));
      if (left > 0) response.writeHead(302, { location: `/${left - 1}` }).end();
      else response.end('there');
    };
    const found = await allowing.request(at('/5'));
    assert.deepEqual([String(found.body), found.url], ['there', at('/0')]);
    await rejects(allowing.request(at('/6')), 'failed');
    assert.equal((await allowing.request(at('/3'), { redirects: 0 })).status, 302);

    const post = { method: 'POST', body: 'text', headers: { authorization: 'Bearer x', cookie: 'a=b', 'x-own': '1' } };
    for (const [status, host, method, authorization] of [
      [302, '127.0.0.1', 'GET', 'Bearer x'],
      [303, 'loop.test', 'GET', undefined],
      [307, '127.0.0.1', 'POST', 'Bearer x'],
      [308, 'loop.test', 'POST', undefined],
    ] as const) {
      answer = (request, response) => {
        if (request.url === '/from') response.writeHead(status, { location: at('/to', host) }).end();
        else response.end();
      };
      await allowing.request(at('/from'), post);
      const last = seen.at(-1) as IncomingMessage;
      assert.deepEqual(
        [last.method, last.headers.authorization, last.headers['x-own']],
        [method, authorization, authorization && '1'],
        `${status}`,
      );
    }
  });

  test('a redirect that writes UTF-8 leads where a browser goes', async () => {
    answer = (request, response) => {
      if (request.url === '/from')
        response.writeHead(302, { location: Buffer.from('/știri').toString('latin1') }).end();
      else response.end(request.url);
    };
    assert.equal(String((await allowing.request(at('/from'))).body), '/%C8%99tiri');
  });

  test('headers of the connection are not the caller’s to set', async () => {
    answer = (request, response) => response.end(request.headers.host);
    const headers = { Host: 'evil.test', 'Transfer-Encoding': 'chunked', 'content-length': '9', connection: 'upgrade' };
    assert.equal(String((await allowing.request(at(), { headers })).body), `127.0.0.1:${port}`);
    await rejects(allowing.request(at(), { headers: { 'x-a': 'b\r\nx-c: d' } }), 'failed');
    await rejects(allowing.request(at(), { method: 'GET / HTTP/1.1\r\nx: y' }), 'failed');
  });

  test('a body is decoded once and cut at the limit, a bomb too', async () => {
    const text = 'decoded '.repeat(100);
    for (const [encoding, bytes] of [
      ['gzip', gzipSync(text)],
      ['deflate', deflateSync(text)],
      ['br', brotliCompressSync(text)],
      ['identity', Buffer.from(text)],
    ] as const) {
      answer = (_, response) => response.writeHead(200, { 'content-encoding': encoding }).end(bytes);
      assert.equal(String((await allowing.request(at())).body), text, encoding);
    }
    answer = (_, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip, gzip' }).end(gzipSync(gzipSync(text)));
    await rejects(allowing.request(at()), 'failed');
    answer = (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('no gzip');
    await rejects(allowing.request(at()), 'failed');

    // 1 GiB of zeros in about 1 MB.
    answer = (_, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      const zip = createGzip();
      zip.pipe(response);
      const zeros = Buffer.alloc(1024 * 1024);
      let left = 1024;
      const more = (): void => {
        while (left-- > 0) if (!zip.write(zeros)) return void zip.once('drain', more);
        zip.end();
      };
      response.on('close', () => (left = 0));
      response.on('error', () => {});
      more();
    };
    const before = process.memoryUsage().rss;
    const bomb = await allowing.request(at(), { maxBytes: 100_000 });
    assert.deepEqual([bomb.body.length, bomb.truncated], [100_000, true]);
    assert.ok(process.memoryUsage().rss - before < 200 * 1024 * 1024);
  });

  test('endless, huge and stalled answers end', async () => {
    answer = (_, response) => {
      const chunk = Buffer.alloc(65_536);
      const more = (): void => {
        while (response.write(chunk));
      };
      response.on('drain', more);
      more();
    };
    const endless = await allowing.request(at());
    assert.deepEqual([endless.body.length, endless.truncated], [3 * 1024 * 1024, true]);

    answer = (_, response) => response.writeHead(200, { 'x-big': 'x'.repeat(20_000) }).end();
    await rejects(allowing.request(at()), 'failed');

    answer = () => {};
    const abort = new AbortController();
    const patient = allowing.request(at(), { signal: abort.signal }).catch(() => 'after the usual time');
    const hasty = rejects(allowing.request(at(), { headersTimeoutMs: 300 }), 'timeout');
    assert.equal(await Promise.race([hasty, patient]), undefined);
    answer = (_, response) => {
      const drip = setInterval(() => response.write('x'), 20);
      response.on('close', () => clearInterval(drip));
    };
    await rejects(allowing.request(at(), { timeoutMs: 300 }), 'timeout');
    const aborted = allowing.request(at(), { signal: abort.signal });
    abort.abort();
    await rejects(aborted, 'failed');
    await patient;
  });

  test('a server that speaks no HTTP or hangs up is a failure', async () => {
    const raw = createTcpServer((socket) => {
      socket.on('error', () => {});
      socket.end('SSH-2.0-x\r\n');
    }).listen(0, '127.0.0.1');
    await once(raw, 'listening');
    const { port: rawPort } = raw.address() as AddressInfo;
    const outbound = createOutbound({ fetchAllowHosts: ['127.0.0.1'], fetchPorts: [rawPort] }, systemClock);
    await rejects(outbound.request(`http://127.0.0.1:${rawPort}/`), 'failed');
    raw.close();
    await rejects(outbound.request(`http://127.0.0.1:${rawPort}/`), 'failed');
  });

  test('proxy settings of the environment are not read', async () => {
    answer = (_, response) => response.end('direct');
    const saved = { ...process.env };
    Object.assign(process.env, {
      HTTP_PROXY: 'http://127.0.0.1:1',
      http_proxy: 'http://127.0.0.1:1',
      NODE_USE_ENV_PROXY: '1',
    });
    try {
      assert.equal(String((await allowing.request(at())).body), 'direct');
    } finally {
      process.env = saved;
    }
  });
});
