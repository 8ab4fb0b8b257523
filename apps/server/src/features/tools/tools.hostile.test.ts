import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { describe, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { brotliCompressSync, constants, createGzip, gzipSync } from 'node:zlib';
import { Pages } from '../pages/index.ts';
import { http, openTest } from '../../testing.ts';
import { html, openWeb, type Serve } from './tools.testing.ts';

const mib = 2 ** 20;
const zeros = Buffer.alloc(mib);

/** So many MiB of zeros, packed. */
function packed(count: number): Buffer {
  const zip = createGzip();
  const chunks: Buffer[] = [];
  zip.on('data', (chunk: Buffer) => chunks.push(chunk));
  for (let n = 0; n < count; n += 1) zip.write(zeros);
  zip.end();
  return Buffer.concat(chunks);
}

/** A server that speaks no HTTP but what it is told to write. */
async function rawServer(speak: (socket: Socket) => void) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('data', () => speak(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Writes again and again until the other side leaves. */
function pour(socket: Socket, text: string, everyMs: number): void {
  const timer = setInterval(() => socket.writableLength < mib && socket.write(text), everyMs);
  socket.on('close', () => clearInterval(timer));
}

const head = 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n';
/** Servers that break the rules below HTTP; each gets a failure, or the part of the page that came before it. */
const speakers: Record<string, (socket: Socket) => void> = {
  'endless headers': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n');
    pour(socket, `x-more: ${'a'.repeat(1_000)}\r\n`, 1);
  },
  'headers that drip': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n');
    pour(socket, 'x: y\r\n', 500);
  },
  'nothing at all': () => {},
  'a body that drips': (socket) => {
    socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n`);
    pour(socket, '1\r\na\r\n', 250);
  },
  'a length that is longer than the body': (socket) => socket.end(`${head}Content-Length: 1000\r\n\r\n<p>short`),
  'a length that is shorter than the body': (socket) =>
    socket.write(`${head}Content-Length: 9\r\n\r\n<p>short of what follows`),
  'two lengths': (socket) => socket.end(`${head}Content-Length: 5\r\nContent-Length: 50\r\n\r\n<p>ab`),
  'a negative length': (socket) => socket.end(`${head}Content-Length: -1\r\n\r\n<p>ab`),
  'chunks of a wrong size': (socket) => socket.end(`${head}Transfer-Encoding: chunked\r\n\r\nffffffffff\r\nab`),
  'no HTTP': (socket) => socket.end('SSH-2.0-OpenSSH_9.9\r\n'),
  'an endless line': (socket) => pour(socket, 'a'.repeat(65_536), 1),
  'many interim answers': (socket) => pour(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n', 1),
  'an upgrade that nobody asked for': (socket) =>
    socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'),
};

/** Documents that were made to cost; the number makes each another one. */
const documents: ((n: number) => Serve)[] = [
  (n) => html('<div>'.repeat(100_000 + n)),
  (n) => html('<table><tr><td>'.repeat(30_000 + n)),
  (n) => html('<b><i><a>'.repeat(100_000 + n)),
  (n) => html(`<p ${Array.from({ length: 100_000 + n }, (_, at) => `a${at}=b`).join(' ')}>text`),
  (n) => html(`<p>${'&amp;&#x10ffff;&notanentity;'.repeat(50_000 + n)}`),
  (n) => html(`<!--${'-'.repeat(2_000_000 + n)}`),
  (n) => html(`<script>${'</scrip'.repeat(200_000 + n)}`),
  (n) => html(`<ul>${'<li>a<ul>'.repeat(50_000 + n)}`),
  (n) => html('<p>word'.repeat(200_000 + n)),
  (n) => html(`<title>${'<'.repeat(1_000_000 + n)}`),
  (n) => html(`<p>${'a'.repeat(2_900_000 + n)}`),
  (n) => html(`${'\u0000'.repeat(100_000 + n)}<p>after`, { 'content-type': 'text/html; charset=utf-7' }),
  (n) => html(`<script type="application/ld+json">${'['.repeat(500_000 + n)}</script>`),
  (n) => (_request, response) =>
    response.writeHead(200, { 'content-type': 'application/pdf' }).end(`%PDF-1.7\n${'<<'.repeat(500_000 + n)}`),
  (n) => (_request, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end('['.repeat(1_000_000 + n)),
  (n) => (_request, response) =>
    response
      .writeHead(200, { 'content-type': 'application/rss+xml' })
      .end(`<rss><channel>${'<item><title>'.repeat(100_000 + n)}`),
  (n) => (_request, response) =>
    response
      .writeHead(200, { 'content-type': 'text/xml' })
      .end(`<!DOCTYPE x [<!ENTITY a "${'a'.repeat(1_000)}">]><x>${'&a;'.repeat(100_000 + n)}</x>`),
];

describe('what strangers serve', () => {
  test('bombs of compression are cut at 3 MB, and two layers of it are no answer', async () => {
    await using web = await openWeb();
    await using t = await openTest({ settings: web.settings });
    const serve =
      (encoding: string, bytes: Buffer): Serve =>
      (_request, response) =>
        response.writeHead(200, { 'content-type': 'text/plain', 'content-encoding': encoding }).end(bytes);
    const gib = packed(1_024);
    web.on('/gzip', serve('gzip', gib));
    web.on(
      '/brotli',
      serve('br', brotliCompressSync(Buffer.alloc(256 * mib), { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })),
    );
    web.on('/twice', serve('gzip, gzip', gzipSync(gib)));
    web.on('/unknown', serve('zpaq', gib));
    const statuses: Record<string, number> = {};
    for (const path of ['/gzip', '/brotli', '/twice', '/unknown']) {
      const { status } = await http(t.gateway.url, '/v1/tools/fetch', {
        method: 'POST',
        key: t.account.key,
        body: { url: web.url(path) },
      });
      statuses[path] = status;
    }
    assert.deepEqual([statuses['/twice'], statuses['/unknown']], [502, 502]);
    // Zeros are no text: cut or not, there is nothing to read.
    for (const path of ['/gzip', '/brotli']) assert.ok([200, 502].includes(statuses[path] ?? 0), path);
  });

  test('servers that drip, lie about lengths or speak no HTTP are answered within the deadline', {
    timeout: 120_000,
  }, async () => {
    await using opening = new AsyncDisposableStack();
    const servers = await Promise.all(
      Object.entries(speakers).map(async ([name, speak]) => ({ name, server: opening.use(await rawServer(speak)) })),
    );
    const ports = servers.map(({ server }) => server.port).join(',');
    await using t = await openTest({ settings: { SVC_FETCH_ALLOW_HOSTS: '127.0.0.1', SVC_FETCH_PORTS: ports } });
    const answers = await Promise.all(
      servers.map(async ({ name, server }) => {
        const body = { url: `http://127.0.0.1:${server.port}/` };
        const answer = await http(t.gateway.url, '/v1/tools/fetch', { method: 'POST', key: t.account.key, body });
        return [name, answer.status, answer.body.error?.code ?? 'read'];
      }),
    );
    const wrong = answers.filter(([name, status, code]) =>
      name === 'a length that is shorter than the body'
        ? status !== 200 && code !== 'upstream_error'
        : code !== 'upstream_error',
    );
    assert.deepEqual(wrong, []);
  });

  test('hundreds of documents that were made to cost leave no worker behind, and the memory is given back', {
    timeout: 300_000,
  }, async () => {
    await using web = await openWeb();
    const count = Number(process.env['SVC_TEST_HOSTILE_PAGES'] ?? 51);
    await using t = await openTest({ settings: { ...web.settings, SVC_RATE_FETCH: '100000' } });
    const ask = async (n: number) => {
      const make = documents[n % documents.length];
      web.on(`/${n}`, (request, response) => make?.(n)(request, response));
      const { status, body } = await http(t.gateway.url, '/v1/tools/fetch', {
        method: 'POST',
        key: t.account.key,
        body: { url: web.url(`/${n}`), format: (['text', 'markdown', 'html'] as const)[n % 3] },
      });
      assert.ok(
        status === 200 || body.error.code === 'upstream_error',
        `${n}: ${status} ${JSON.stringify(body).slice(0, 300)}`,
      );
      if (status === 200) assert.ok(body.chars <= 1_000_000 && body.content.isWellFormed(), String(n));
    };
    await ask(0);
    const before = held();
    for (let n = 1; n <= count; n += 4) await Promise.all([n, n + 1, n + 2, n + 3].map(ask));
    // The gateway answers all the while.
    assert.equal((await http(t.gateway.url, '/health')).status, 200);
    const after = held();
    assert.ok(
      after < before + 64 * mib,
      `${Math.round(before / mib)} MiB before, ${Math.round(after / mib)} MiB after`,
    );
  });

  test('a worker that is at work when its caller leaves ends; an account leaves one to others, and three are the most there are', async () => {
    await using web = await openWeb();
    await using t = await openTest({ settings: web.settings });
    const pages = new Pages(t.gateway.kernel);
    const gone = new AbortController();
    const work = { kind: 'read' as const, url: 'http://x.test/', contentType: 'text/html' };
    const bytes = Buffer.from('<div>'.repeat(600_000));
    const start = (account: string) => pages.pool.do(account, { ...work, bytes }, gone.signal);
    const all = [start('a'), start('a'), start('a')];
    assert.equal(pages.pool.count, 2);
    all.push(start('b'), start('c'), start('d'));
    assert.equal(pages.pool.count, 3);
    gone.abort(new Error('the caller left'));
    const ended = await Promise.allSettled(all);
    assert.ok(ended.every(({ status }) => status === 'rejected'));
    assert.equal(pages.pool.count, 0);
    await pages.pool.stop();
  });
});

/** Bytes that the process holds after a collection, outside of its workers. */
function held(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
