import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingHttpHeaders, request } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { before, describe, test } from 'node:test';
import { testClock } from '../../kernel/base/clock.ts';
import { inTransaction } from '../../kernel/db/db.ts';
import { shared } from '../../testing.shared.ts';
import { asOwner, http } from '../../testing.ts';
import { setSuspended } from '../accounts/accounts.sql.ts';
import { hashOf, previewUrl } from './previews/address.ts';
import { findPreview } from './previews/previews.sql.ts';
import { type Json, openSandboxes, type SandboxesTest, startNode } from './sandboxes.testing.ts';

/** A page that tells what came to it, and echoes over WebSocket with nothing but the standard library of Node. */
const page = `
const { createServer } = require('node:http');
const { createHash } = require('node:crypto');
const server = createServer((q, s) => {
  let body = '';
  const to = new URL(q.url, 'http://x').searchParams.get('to');
  if (to) return s.writeHead(302, { location: to }).end();
  q.on('data', (c) => (body += c)).on('end', () => {
    s.setHeader('set-cookie', ['own=1; Path=/; Domain=evil.test', 'two=2']);
    s.end(JSON.stringify({ url: q.url, method: q.method, headers: q.headers, body }));
  });
});
server.on('upgrade', (q, s) => {
  const key = createHash('sha1').update(q.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').digest('base64');
  s.write('HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Accept: ' + key + '\\r\\n\\r\\n');
  s.on('data', (d) => {
    if ((d[0] & 15) !== 1) return s.end();
    const n = d[1] & 127, m = d.subarray(2, 6), t = Buffer.from(d.subarray(6, 6 + n).map((b, i) => b ^ m[i % 4]));
    s.write(Buffer.concat([Buffer.from([129, n]), t]));
  });
});
server.listen(3000, '127.0.0.1');
`;

/** Starts the page in a sandbox. */
async function start(t: SandboxesTest, box: { id: string }): Promise<void> {
  await fetch(`${t.gateway.url}/v1/sandboxes/${box.id}/files/page.cjs`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${t.account.key}` },
    body: page,
  });
  // Beside it a server of files, which knows no WebSocket.
  const both = 'nohup node page.cjs > page.log 2>&1 & nohup python3 -m http.server 3001 > /dev/null 2>&1 &';
  const wait = 'for p in 3000 3001; do until curl -s localhost:$p > /dev/null; do sleep 0.1; done; done';
  await t.exec(box, `${both} ${wait}`);
}

/** As a client without a browser asks for an address: nothing but browsers finds `<token>.localhost`. */
function byPath(url: string): string {
  const [, token, port, path] = /^http:\/\/([a-z2-7]{26})\.localhost:(\d+)\/(.*)$/.exec(url) ?? assert.fail(url);
  return `http://127.0.0.1:${port}/${token}/${path}`;
}

/** Asks as a browser does: by the name of the address. */
function asBrowser(url: string, headers: Record<string, string> = {}) {
  const { host, hostname, port, pathname, search } = new URL(url);
  return new Promise<{ status: number; headers: IncomingHttpHeaders; body: string }>((resolve, reject) => {
    const to = {
      host: '127.0.0.1',
      port,
      path: pathname + search,
      headers: { host, 'sec-fetch-site': 'none', ...headers },
    };
    request(to, (response) => {
      const { statusCode: status = 0, headers: said } = response;
      const done = (chunks: Buffer[]) => resolve({ status, headers: said, body: Buffer.concat(chunks).toString() });
      response.toArray().then(done, reject);
    })
      .once('error', (error) => reject(new Error(`${hostname}: ${error.message}`)))
      .end();
  });
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe('previews', () => {
  let box: Json;
  const t = shared(() => openSandboxes());
  before(async () => {
    box = await t.create();
    await start(t, box);
  });

  const open = async (port = 3000, ttl?: number): Promise<Json> => {
    const { status, body } = await t.call('POST', `/v1/sandboxes/${box.id}/preview`, {
      port,
      ...(ttl !== undefined && { ttl_seconds: ttl }),
    });
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  };

  test('the address forwards requests as they are, without what belongs to the platform', async () => {
    const { url: own, port, expires_at } = await open();
    const url = byPath(own);
    assert.equal(port, 3000);
    assert.ok(Math.abs(Date.parse(expires_at) - Date.now() - 900_000) < 60_000);
    const token = new URL(url).pathname.slice(1, -1);
    assert.match(token, /^[a-z2-7]{26}$/);
    const answer = await fetch(`${url}a/b?c=d`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${t.account.key}`,
        'x-api-key': t.account.key,
        cookie: `svc_session=secret; p${token.slice(0, 8)}_own=7; other=1`,
        'x-mine': 'kept',
      },
      body: 'the body',
    });
    const seen = (await answer.json()) as Json;
    assert.deepEqual([seen.url, seen.method, seen.body], ['/a/b?c=d', 'POST', 'the body']);
    assert.equal(seen.headers['x-mine'], 'kept');
    assert.equal(seen.headers.cookie, 'own=7');
    for (const name of ['authorization', 'x-api-key']) assert.equal(seen.headers[name], undefined);
    assert.ok(!JSON.stringify(seen).includes(t.account.key));
    const cookies = answer.headers.getSetCookie();
    const path = `Path=/${token}/`;
    assert.deepEqual(cookies, [`p${token.slice(0, 8)}_own=1; ${path}`, `p${token.slice(0, 8)}_two=2; ${path}`]);
    assert.match(answer.headers.get('content-security-policy') ?? '', /^sandbox /);
  });

  test('each has an origin of its own, to which browsers are sent that ask by path', async () => {
    const { url } = await open();
    const label = new URL(url).hostname.split('.')[0] ?? '';
    assert.match(url, /^http:\/\/[a-z2-7]{26}\.localhost:\d+\/$/);
    assert.ok(label.length <= 63 && new URL(url).port !== new URL(t.gateway.url).port);
    const answer = await asBrowser(`${url}a?b`, { cookie: 'svc_session=secret; own=7' });
    const seen = JSON.parse(answer.body);
    assert.deepEqual([answer.status, seen.url, seen.headers.cookie], [200, '/a?b', 'own=7']);
    assert.deepEqual(answer.headers['set-cookie'], ['own=1; Path=/', 'two=2']);
    const path = `/${label}/a?b`;
    for (const host of ['127.0.0.1', 'localhost', '[::1]']) {
      const sent = await asBrowser(new URL(path, url).href, { host: `${host}:4321` });
      assert.deepEqual([host, sent.status, sent.headers.location], [host, 307, `http://${label}.localhost:4321/a?b`]);
    }
    const far = await asBrowser(new URL(path, url).href, { host: '192.0.2.1:4321' });
    assert.deepEqual([far.status, far.body.includes('SVC_PREVIEW_DOMAIN')], [403, true]);
  });

  test('host, origin and forwarded host agree inside, and a foreign origin stays foreign', async () => {
    const { url } = await open();
    const origin = new URL(url).origin;
    const { headers } = JSON.parse((await asBrowser(url, { origin })).body);
    const agreed = [headers.host, headers.origin, headers['x-forwarded-host'], headers['x-forwarded-proto']];
    assert.deepEqual(agreed, ['localhost:3000', 'http://localhost:3000', 'localhost:3000', 'http']);
    const foreign = JSON.parse((await asBrowser(url, { origin: 'http://evil.test' })).body);
    assert.equal(foreign.headers.origin, 'http://evil.test');
  });

  test('no cookie and no referer says which preview is asked for', async () => {
    const url = byPath((await open()).url);
    const token = new URL(url).pathname.slice(1, -1);
    for (const headers of [{ cookie: `svc_preview=${token}` }, { referer: url }]) {
      assert.equal((await fetch(new URL('/assets/x.js', url), { headers })).status, 403);
    }
  });

  test('where clients are on other machines an address needs a domain, and the refusal says so', async () => {
    const far = { host: '127.0.0.1', baseUrl: 'https://svc.example.com', baseUrlIsSet: true, previewDomain: undefined };
    const asked = { port: 3000, token: 'a'.repeat(26), listens: 8788 };
    const own = `http://${asked.token}.localhost:8788/`;
    const near = { ...far, baseUrl: 'http://127.0.0.1:8787', baseUrlIsSet: false };
    const cases: [Parameters<typeof previewUrl>[0], string | undefined][] = [
      [near, own],
      [{ ...near, host: 'localhost' }, own],
      [{ ...near, host: '0.0.0.0' }, undefined],
      [{ ...near, host: '192.0.2.1' }, undefined],
      [{ ...near, host: '0.0.0.0', baseUrlIsSet: true }, own],
      [{ ...near, host: '192.0.2.1', baseUrlIsSet: true }, undefined],
      [far, undefined],
      [{ ...far, previewDomain: 'p.test' }, `https://3000-${asked.token}.p.test/`],
    ];
    for (const [config, expected] of cases) {
      const url = previewUrl(config, asked);
      assert.equal(typeof url === 'string' ? url : undefined, expected, JSON.stringify(config));
    }
    await using other = await openSandboxes({ settings: { SVC_BASE_URL: far.baseUrl } });
    const elsewhere = await other.create({ backend: 'v1' });
    const { status, body } = await other.call('POST', `/v1/sandboxes/${elsewhere.id}/preview`, { port: 3000 });
    assert.deepEqual([status, body.error.code], [503, 'sandbox_capacity']);
    assert.match(body.error.message, /SVC_PREVIEW_DOMAIN/);
  });

  test('compressed and chunked answers arrive as they are, chunked bodies too, and a Secure cookie stays one', async () => {
    const program = `const { gzipSync } = require('node:zlib');
      require('node:http').createServer(async (q, s) => {
        let size = 0;
        for await (const part of q) size += part.length;
        s.setHeader('set-cookie', ['id=1; Domain=localhost; Path=/; Secure; HttpOnly; SameSite=Lax']);
        if (q.url === '/gzip') return s.setHeader('content-encoding', 'gzip').end(gzipSync('packed'));
        s.write(String(size));
        setTimeout(() => s.end(' ' + q.headers['transfer-encoding']), 50);
      }).listen(3003, '127.0.0.1')`;
    await t.exec(box, {
      shell:
        'cat > coded.cjs; nohup node coded.cjs > coded.log 2>&1 & until curl -s localhost:3003 > /dev/null; do sleep 0.1; done',
      stdin: program,
    });
    const { url } = await open(3003);
    const packed = await asBrowser(`${url}gzip`, { 'accept-encoding': 'gzip' });
    assert.equal(packed.headers['content-encoding'], 'gzip');
    assert.deepEqual(packed.headers['set-cookie'], ['id=1; Path=/; Secure; HttpOnly; SameSite=Lax']);
    assert.equal(await (await fetch(`${byPath(url)}gzip`)).text(), 'packed');
    const body = new Blob([Buffer.alloc(300_000)]).stream();
    const sent = await fetch(byPath(url), { method: 'POST', body, duplex: 'half' });
    assert.equal(await sent.text(), '300000 chunked');
  });

  test('a visitor who comes while the node is starting anew waits for it', async (t) => {
    const images = process.env['SVC_TEST_IMAGES'] as string;
    const args = ['--warm', '0', '--log-level', 'warn'];
    const first = await startNode({ images, args });
    t.after(() => first.client.close());
    const clock = testClock();
    const other = await openSandboxes({ socket: first.socket, clock });
    t.after(() => other.close());
    const there = await other.create({ backend: 'v1' });
    await start(other, there);
    const { url } = (await other.call('POST', `/v1/sandboxes/${there.id}/preview`, { port: 3000 })).body;
    assert.equal((await fetch(byPath(url))).status, 200);
    first.process.ref();
    first.process.kill('SIGKILL');
    await once(first.process, 'exit');
    const visited = [fetch(byPath(url)), fetch(byPath(url))];
    const second = await startNode({ images, args, dir: first.dir });
    t.after(() => second.close());
    // A busy machine takes longer to start a node than visitors wait: their time is the test's.
    const turning = setInterval(() => clock.advance(200), 500);
    t.after(() => clearInterval(turning));
    for (const answer of await Promise.all(visited)) assert.equal(answer.status, 200);
  });

  test('WebSocket goes through, both ways', async () => {
    const url = byPath((await open()).url);
    const socket = new WebSocket(url.replace('http', 'ws'));
    const said = Promise.withResolvers<string>();
    socket.addEventListener('message', (event) => said.resolve(String(event.data)));
    socket.addEventListener('error', () => said.reject(new Error('the socket broke')));
    socket.addEventListener('open', () => socket.send('salut'));
    assert.equal(await said.promise, 'salut');
    socket.close();
  });

  test('a forged, cut, expired or missing token is a bare 403, on HTTP and on WebSocket', async () => {
    const url = byPath((await open(3000, 60)).url);
    const token = new URL(url).pathname.slice(1, -1);
    const changed = (token.startsWith('a') ? 'b' : 'a') + token.slice(1);
    for (const path of [
      `/${changed}/`,
      `/${token.slice(0, 25)}/`,
      `/${token.toUpperCase()}/`,
      '/',
      '/x',
      `/x/${token}/`,
    ]) {
      const answer = await fetch(new URL(path, url));
      assert.deepEqual([path, answer.status, await answer.text()], [path, 403, 'This address is not valid.\n']);
    }
    await t.gateway.kernel.sql`update sandboxes.previews set expires_at = now() where sandbox_id = ${box.id}`;
    assert.equal((await fetch(url)).status, 403);
    const socket = new WebSocket(url.replace('http', 'ws'));
    const refused = Promise.withResolvers<void>();
    socket.addEventListener('error', () => refused.resolve());
    await refused.promise;
  });

  test('a redirect to the page itself stays in the preview, one to another host leaves it', async () => {
    const { url } = await open();
    const path = byPath(url);
    const token = new URL(path).pathname.slice(0, -1);
    const { origin } = new URL(url);
    for (const [to, own, byToken] of [
      ['http://localhost:3000/in?a#b', `${origin}/in?a#b`, `${token}/in?a#b`],
      ['http://127.0.0.1:3000/', `${origin}/`, `${token}/`],
      ['//localhost:3000/x', `${origin}/x`, `${token}/x`],
      ['/login', '/login', `${token}/login`],
      ['next', 'next', `${token}/a/next`],
      ['https://example.org/x', 'https://example.org/x', 'https://example.org/x'],
      ['http://localhost:3001/', 'http://localhost:3001/', 'http://localhost:3001/'],
      ['http://[', 'http://[', 'http://['],
    ] as const) {
      const query = `a/b?to=${encodeURIComponent(to)}`;
      assert.equal((await asBrowser(`${url}${query}`)).headers.location, own);
      const answer = await fetch(`${path}${query}`, { redirect: 'manual' });
      assert.equal(answer.headers.get('location'), byToken);
    }
  });

  test('host, origin, referer and forwarded host are the page’s own; those of other pages are not made so', async () => {
    const { url } = await open();
    const { origin } = new URL(url);
    const seen = async (headers: Record<string, string>) => JSON.parse((await asBrowser(url, headers)).body).headers;
    const own = await seen({ origin, referer: `${origin}/form?x` });
    assert.deepEqual(
      [own.host, own['x-forwarded-host'], own['x-forwarded-proto'], own.origin, own.referer],
      ['localhost:3000', 'localhost:3000', 'http', 'http://localhost:3000', 'http://localhost:3000/form?x'],
    );
    const other = await seen({ origin: 'https://evil.test', referer: 'https://evil.test/secret' });
    assert.deepEqual([other.origin, other.referer], ['https://evil.test', undefined]);
  });

  test('a port on which nothing listens is a 502, and so is a sandbox that is gone', async () => {
    const url = byPath((await open(3999)).url);
    assert.equal((await fetch(url)).status, 502);
    const other = await t.create();
    const preview = (await t.call('POST', `/v1/sandboxes/${other.id}/preview`, { port: 3000 })).body;
    await t.call('DELETE', `/v1/sandboxes/${other.id}`);
    assert.equal((await fetch(byPath(preview.url))).status, 502);
  });

  test('with a domain the host name carries port and token, and cookies are the page’s own', async () => {
    const port = await freePort();
    const settings = { SVC_PREVIEW_DOMAIN: 'preview.test', SVC_PREVIEW_PORT: String(port) };
    const named = await openSandboxes({ settings });
    const other = await named.create();
    await start(named, other);
    const { body } = await named.call('POST', `/v1/sandboxes/${other.id}/preview`, { port: 3000 });
    const [, inside, token] =
      /^https:\/\/(\d+)-([a-z2-7]{26})\.preview\.test\/$/.exec(body.url) ?? assert.fail(body.url);
    assert.equal(inside, '3000');
    const ask = (host: string, path = '/') =>
      new Promise<{ status: number; body: string; cookies: string[] }>((resolve, reject) => {
        const headers = { host, cookie: 'svc_session=secret; own=7' };
        request({ port, host: '127.0.0.1', path, headers }, (response) => {
          const { statusCode: status = 0 } = response;
          const cookies = response.headers['set-cookie'] ?? [];
          response
            .toArray()
            .then((chunks) => resolve({ status, body: Buffer.concat(chunks).toString(), cookies }), reject);
        })
          .once('error', reject)
          .end();
      });
    const answer = await ask(`3000-${token}.preview.test`, '/a?b');
    const seen = JSON.parse(answer.body);
    assert.deepEqual([answer.status, seen.url, seen.headers.cookie], [200, '/a?b', 'own=7']);
    assert.deepEqual(answer.cookies, ['own=1; Path=/', 'two=2']);
    for (const host of [
      `3001-${token}.preview.test`,
      `${token}.preview.test`,
      `3000-${token}.other.test`,
      'preview.test',
    ]) {
      assert.deepEqual([host, (await ask(host)).status], [host, 403]);
    }
    assert.equal((await ask('preview.test', `/${token}/`)).status, 403);
    await named.close();
  });

  test('nothing but WebSocket is upgraded, another offer is passed over, and a page that declines gets no tunnel', async () => {
    const url = byPath((await open()).url);
    const { port, pathname } = new URL(url);
    const upgrade = (protocol: string, path: string) =>
      new Promise<number>((resolve, reject) => {
        const headers = {
          connection: 'upgrade',
          upgrade: protocol,
          'sec-websocket-key': 'x',
          'sec-websocket-version': '13',
        };
        const asked = request({ port, host: '127.0.0.1', path, headers }, (response) =>
          resolve(response.statusCode ?? 0),
        );
        asked.once('upgrade', (_response, socket) => {
          socket.destroy();
          resolve(101);
        });
        asked.once('error', reject).end();
      });
    assert.equal(await upgrade('h2c', pathname), 200);
    assert.equal(await upgrade('websocket', pathname), 101);
    const files = new URL(byPath((await open(3001)).url));
    // Python's server of files knows no WebSocket, and says so by its page.
    assert.equal(await upgrade('websocket', files.pathname), 200);
  });

  test('a body of 20 MiB passes whole to a reader that takes its time', async () => {
    await t.exec(box, 'head -c 20971520 /dev/urandom > big');
    const url = byPath((await open(3001)).url);
    const response = await fetch(`${url}big`);
    let bytes = 0;
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      bytes += chunk.length;
      // Slower than it comes.
      if (bytes % 7 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    assert.equal(bytes, 20_971_520);
  });

  test('an address is void once the key that made it is revoked, or its account may not go on', async () => {
    const { body: key } = await t.call('POST', '/v1/keys', { name: 'short' });
    const made = await http(t.gateway.url, `/v1/sandboxes/${box.id}/preview`, { key: key.key, body: { port: 3000 } });
    const url = byPath((await open()).url);
    const statuses = async () => [(await fetch(byPath(made.body.url))).status, (await fetch(url)).status];
    assert.deepEqual(await statuses(), [200, 200]);
    await t.call('DELETE', `/v1/keys/${key.id}`);
    assert.deepEqual(await statuses(), [403, 200]);
    const { sql } = t.gateway.kernel;
    // In a transaction that is rolled back: the sandbox of the other tests goes on.
    await assert.rejects(
      inTransaction(sql, async (tx) => {
        await setSuspended(tx, t.account.id, true);
        const [row] = await tx`select may_run from accounts.standing_view where id = ${t.account.id}`;
        assert.equal(row?.['may_run'], false);
        const token = hashOf(new URL(url).pathname.slice(1, -1));
        assert.equal(await findPreview(tx, t.gateway.kernel.clock, token), undefined);
        throw new Error('over');
      }),
      /over/,
    );
    assert.deepEqual(await statuses(), [403, 200]);
  });

  test('a gateway of the version before, which asks the old schema, still stores and finds previews', async () => {
    const token = Buffer.from(randomUUID());
    // It is the owner of the database: this version gave the application a role of its own.
    await asOwner(t.database, async (sql) => {
      await sql`
        insert into previews.previews (token_hash, account_id, sandbox_id, port, expires_at)
        values (${token}, ${t.account.id}, ${randomUUID()}, 3000, now() + interval '1 minute')`;
      assert.equal((await sql`select 1 from sandboxes.previews where token_hash = ${token}`).length, 1);
      await sql`delete from previews.previews where token_hash = ${token}`;
      assert.equal((await sql`select 1 from sandboxes.previews where token_hash = ${token}`).length, 0);
    });
  });
});
