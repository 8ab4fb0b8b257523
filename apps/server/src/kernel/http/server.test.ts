import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, test } from 'node:test';
import { errorEnvelope } from '@svc/contract';
import { issueKey } from '../../features/keys/index.ts';
import { updateAccount } from '../../features/accounts/accounts.sql.ts';
import { shared } from '../../testing.shared.ts';
import { asOwner, createAccount, hangMs, http, type HttpAnswer, openTest, startGateway, until } from '../../testing.ts';
import { testClock } from '../base/clock.ts';
import { version } from '../base/version.ts';
import { openTestPool, proxyDatabase, withinOneMinute } from '../testing.ts';

const mib = 1024 * 1024;

/** Fails unless the answer is the envelope with this status and code. */
function isRefusal(answer: HttpAnswer, status: number, code: string, what = ''): void {
  assert.deepEqual([answer.status, answer.body?.error?.code], [status, code], what || JSON.stringify(answer.body));
  errorEnvelope.parse(answer.body);
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
  assert.ok(answer.headers.get('x-svc-trace-id'), `${what}: no x-svc-trace-id`);
  assert.equal(answer.headers.get('x-svc-version'), version, what);
}

/** Writes bytes to a socket of its own and answers what came back once the server closed. */
async function raw(url: string, bytes: string, { halfClose = false } = {}): Promise<HttpAnswer> {
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen: true });
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  socket.on('error', () => {});
  if (halfClose) socket.end(bytes, 'latin1');
  else socket.write(bytes, 'latin1');
  await once(socket, 'end', { signal: AbortSignal.timeout(hangMs) });
  socket.destroy();
  const [head = '', ...rest] = text.split('\r\n\r\n');
  const [status = '', ...lines] = head.split('\r\n');
  const headers = new Headers(lines.map((line) => line.split(/: (.*)/).slice(0, 2) as [string, string]));
  const body = rest.join('\r\n\r\n');
  const isJson = headers.get('content-type')?.includes('json') ?? false;
  return { status: Number(status.split(' ')[1]), body: isJson ? JSON.parse(body) : body, headers };
}

describe('errors over HTTP', () => {
  const { gateway, account, database } = shared(() => openTest());
  const ask = (path: string, init: Parameters<typeof http>[2] = {}) =>
    http(gateway.url, path, { key: account.key, ...init });
  const issue = (terms: { scopes?: string[]; expiresAt?: string } = {}) =>
    issueKey(gateway.kernel, gateway.kernel.sql, { accountId: account.id, name: 'k', scopes: ['*'], ...terms });

  test('400: a body that is no JSON, or has a key of the prototype', async () => {
    for (const body of ['{', '{"name":}', 'name=x', '[1,]', '"', '{"__proto__":{"x":1}}', '\u0000']) {
      isRefusal(await ask('/v1/keys', { raw: body }), 400, 'bad_request', body);
    }
  });

  test('408 for a request that does not end; a connection on which nothing was asked is closed without a word', async () => {
    const { server } = gateway.app.http;
    for (const [bytes, expected] of [
      ['GET /health HTTP/1.1\r\n', /^HTTP\/1\.1 408 [^]*connection: close[^]*took too long/],
      ['', /^$/],
    ] as const) {
      const accepted = once(server, 'connection');
      const socket = connect({ port: Number(new URL(gateway.url).port), host: '127.0.0.1' });
      let text = '';
      socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      const [there] = (await accepted) as [Socket];
      if (bytes !== '') socket.write(bytes);
      await until(async () => there.bytesRead === bytes.length);
      server.emit('clientError', Object.assign(new Error(), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), there);
      await once(socket, 'close');
      assert.match(text, expected);
    }
  });

  test('400: a body of another content type, or of none', async () => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'x',
      '',
    ]) {
      const answer = await ask('/v1/keys', { raw: '{}', headers: { 'content-type': type } });
      isRefusal(answer, 400, 'bad_request', type);
    }
  });

  test('a body with a charset or an upper-case content type is taken; an empty one counts as none', async () => {
    for (const type of ['application/json; charset=utf-8', 'Application/JSON']) {
      const answer = await ask('/v1/keys', { raw: '{"name":"typed"}', headers: { 'content-type': type } });
      assert.equal(answer.status, 201, type);
    }
    assert.equal((await ask('/v1/keys', { raw: '' })).status, 201);
  });

  test('400: fields that fail validation are all named in details.fieldErrors', async () => {
    const answer = await ask('/v1/keys', { body: { name: '', scopes: ['No!'], spend_cap_micro_usd: 1.5 } });
    isRefusal(answer, 400, 'bad_request');
    assert.deepEqual(Object.keys(answer.body.error.details.fieldErrors).sort(), [
      'name',
      'scopes.0',
      'spend_cap_micro_usd',
    ]);
    assert.equal(answer.body.error.type, 'invalid_request_error');
  });

  test('400: malformed percent-encoding in the URL', async () => {
    for (const path of ['/v1/keys/%ZZ', '/%', '/v1/%c3%28/x%']) {
      isRefusal(
        await raw(gateway.url, `GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`),
        400,
        'bad_request',
      );
    }
  });

  test('400: bytes that are not HTTP, broken framing and headers over the limit', async () => {
    const big = `GET /health HTTP/1.1\r\nhost: x\r\nx-big: ${'x'.repeat(20_000)}\r\n\r\n`;
    const requests = {
      'not HTTP': '\x16\x03\x01\x02\x00hello\r\n\r\n',
      'no method': 'BREW /pot HTTP/1.1\r\nhost: x\r\n\r\n',
      'two framings':
        'POST /v1/keys HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
      'bad chunk': `POST /v1/keys HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${account.key}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n`,
      'header overflow': big,
      'NUL in a header': 'GET /health HTTP/1.1\r\nhost: x\r\nx-a: \u0000\r\n\r\n',
    };
    for (const [what, bytes] of Object.entries(requests)) {
      isRefusal(await raw(gateway.url, bytes), 400, 'bad_request', what);
    }
  });

  test('400: an upload that its client breaks off, and nothing is created', async () => {
    const before = (await ask('/v1/keys')).body.keys.length;
    const head = `POST /v1/keys HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${account.key}\r\ncontent-type: application/json\r\n`;
    isRefusal(
      await raw(gateway.url, `${head}content-length: 100\r\n\r\n{"name":`, { halfClose: true }),
      400,
      'bad_request',
    );
    const gone = connect(Number(new URL(gateway.url).port), '127.0.0.1');
    gone.write(`${head}content-length: 17\r\n\r\n{"name":`);
    await once(gone, 'connect');
    gone.destroy();
    await once(gone, 'close');
    assert.equal((await ask('/v1/keys')).body.keys.length, before);
  });

  test('400: an expectation that cannot be met is refused in the envelope', async () => {
    const request = 'GET /health HTTP/1.1\r\nhost: x\r\nexpect: miracles\r\nconnection: close\r\n\r\n';
    isRefusal(await raw(gateway.url, request), 400, 'bad_request');
  });

  test('400: an x-request-id over 128 characters; 128 are echoed, none is replaced by a fresh id', async () => {
    const answer = await ask('/v1/keys', { headers: { 'x-request-id': 'r'.repeat(129) } });
    isRefusal(answer, 400, 'bad_request');
    assert.notEqual(answer.headers.get('x-svc-trace-id'), 'r'.repeat(129));
    const longest = await ask('/v1/keys', { headers: { 'x-request-id': 'r'.repeat(128) } });
    assert.deepEqual([longest.status, longest.headers.get('x-svc-trace-id')], [200, 'r'.repeat(128)]);
    const [one, two] = [await ask('/v1/keys'), await ask('/v1/keys')];
    assert.match(one.headers.get('x-svc-trace-id') ?? '', /^[0-9a-f-]{36}$/);
    assert.notEqual(one.headers.get('x-svc-trace-id'), two.headers.get('x-svc-trace-id'));
    const empty = await ask('/v1/keys', { headers: { 'x-request-id': '' } });
    assert.equal(empty.status, 200, 'an empty id counts as none');
  });

  test('the version is on every answer, and in that of /health', async () => {
    for (const path of ['/health', '/nowhere', '/v1/keys', '/v1/keys?x=%ff', '/%ff', '/', '/docs', '/openapi.json']) {
      const { headers } = await fetch(gateway.url + path);
      assert.equal(headers.get('x-svc-version'), version, path);
    }
    assert.equal((await ask('/health')).body.version, version);
    const headers = { authorization: `Bearer ${account.key}` };
    const stream = await fetch(`${gateway.url}/v1/notifications/stream`, { headers });
    assert.equal(stream.headers.get('x-svc-version'), version, 'of a stream');
    await stream.body?.cancel();
  });

  test('the trace id is on failures and on open routes too', async () => {
    for (const path of ['/health', '/nowhere', '/v1/keys?x=%ff']) {
      const answer = await http(gateway.url, path, { headers: { 'x-request-id': 'mine' } });
      assert.equal(answer.headers.get('x-svc-trace-id'), 'mine', path);
    }
  });

  test('400: an x-svc-device that is no uuid, or is sent twice', async () => {
    for (const id of ['phone', '', `${randomUUID()}x`, `{${randomUUID()}}`]) {
      const answer = await ask('/v1/keys', { headers: { 'x-svc-device': id } });
      isRefusal(answer, 400, 'bad_request', id);
      assert.ok(answer.body.error.details.fieldErrors['x-svc-device']);
    }
    const twice = `x-svc-device: ${randomUUID()}\r\n`.repeat(2);
    const request = `GET /v1/keys HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${account.key}\r\n${twice}connection: close\r\n\r\n`;
    isRefusal(await raw(gateway.url, request), 400, 'bad_request');
  });

  test('401: a key that is missing, malformed, mistyped, unknown, paused, revoked or expired', async () => {
    const [paused, revoked] = [await issue(), await issue()];
    await ask(`/v1/keys/${paused.id}`, { method: 'PATCH', body: { status: 'paused' } });
    await ask(`/v1/keys/${revoked.id}`, { method: 'DELETE' });
    const expired = await issue({ expiresAt: new Date(Date.now() - 1_000).toISOString() });
    const unknown = (await issue()).text;
    await gateway.kernel.sql`delete from keys.keys where last_four = ${unknown.slice(-4)} and name = 'k'`;
    const { key } = account;
    const mistyped = key.slice(0, 10) + (key[10] === 'a' ? 'b' : 'a') + key.slice(11);
    const values = [undefined, '', 'Bearer', `Bearer ${key} ${key}`, `Basic ${btoa(key)}`, key, 'Bearer svc_short'];
    const keys = [mistyped, unknown, paused.text, revoked.text, expired.text].map((text) => `Bearer ${text}`);
    for (const authorization of [...values, ...keys]) {
      const headers = authorization === undefined ? {} : { authorization };
      const answer = await http(gateway.url, '/v1/keys', { headers });
      isRefusal(answer, 401, 'invalid_api_key', String(authorization));
      assert.equal(answer.body.error.type, 'authentication_error');
      assert.equal(answer.headers.get('www-authenticate'), 'Bearer');
    }
    isRefusal(await http(gateway.url, '/v1/keys', { headers: { 'x-api-key': key } }), 401, 'invalid_api_key');
  });

  test('401: a key that expires is refused from its instant on, though it was in use', async () => {
    const clock = testClock();
    await using own = await startGateway(database, { clock });
    const { id, text } = await issue({ expiresAt: new Date(Date.now() + 20_000).toISOString() });
    const status = async () => (await http(own.url, '/v1/keys', { key: text })).status;
    await until(() => own.kernel.gateways.cachesAreTrusted());
    assert.equal(await status(), 200);
    // To the database its instant comes at once, to the gateway in 20 s of the clock that is turned.
    await own.kernel.sql`update keys.keys set expires_at = now() where id = ${id}`;
    for (let turned = 0; turned < 20_000; turned += 2_000) {
      clock.advance(2_000);
      // A renewal that takes long lets a turn of the clock pass: the next comes with the next turn only.
      await until(() => {
        if (own.kernel.gateways.cachesAreTrusted()) return true;
        clock.advance(100);
        return false;
      });
    }
    assert.equal(await status(), 401);
  });

  test('a client that closes its half once it has asked gets its answer, and one that is streamed to has left', async () => {
    const { key } = account;
    const asks = (method: string, path: string, body = '') =>
      `${method} ${path} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${key}\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    for (const path of ['/v1/keys', '/v1/devices', '/v1/prompts', '/v1/schedules'])
      assert.equal((await raw(gateway.url, asks('GET', path), { halfClose: true })).status, 200, path);
    assert.equal((await raw(gateway.url, asks('POST', '/v1/sessions', '{}'), { halfClose: true })).status, 201);
    const streams = gateway.kernel.streams.count();
    await raw(gateway.url, asks('GET', '/v1/prompts/stream'), { halfClose: true });
    await until(() => gateway.kernel.streams.count() === streams);
  });

  test('Bearer is read whatever its case', async () => {
    for (const scheme of ['bearer', 'BEARER', 'bEaReR ']) {
      const headers = { authorization: `${scheme} ${account.key}` };
      assert.equal((await http(gateway.url, '/v1/keys', { headers })).status, 200, scheme);
    }
  });

  test('401: a key in the query string, valid or not, plain or percent-encoded, beside a valid header', async () => {
    const { key } = account;
    const encoded = Array.from(key, (c) => `%${c.charCodeAt(0).toString(16)}`).join('');
    const spare = (await issue()).text;
    for (const query of [key, `k=${key}`, `a=1&k=${spare}`, key.replace('_', '%5F'), encoded, `bad=%ff&k=${encoded}`]) {
      const answer = await ask(`/v1/keys?${query}`);
      isRefusal(answer, 401, 'invalid_api_key', query.replaceAll(key, 'KEY'));
    }
    assert.equal((await ask('/v1/keys?k=svc_short')).status, 200);
  });

  test('402, then 403, then 429, then 400: the documented order of checks', async () => {
    await using own = await startGateway(database, { settings: { SVC_RATE_REQUESTS: '2' }, clock: testClock() });
    const customer = await createAccount(own, { scopes: ['hosts', 'keys:read'] });
    const send = (path: string, method: string) =>
      http(own.url, path, { method, key: customer.key, headers: { 'x-request-id': 'x'.repeat(200) }, raw: '{' });
    await updateAccount(own.kernel.sql, customer.id, { subscription: 'inactive' });
    const unpaid = await send('/v1/keys', 'POST');
    isRefusal(unpaid, 402, 'subscription_inactive');
    assert.equal(unpaid.headers.get('ratelimit'), null);
    await updateAccount(own.kernel.sql, customer.id, { subscription: 'active' });
    await own.kernel.gateways.announce('credentials.changed', null);
    for (let i = 0; i < 4; i++) isRefusal(await send('/v1/keys', 'POST'), 403, 'forbidden');
    // A refusal before the rate is counted costs nothing of it.
    const exec = `/v1/hosts/not-a-uuid/exec`;
    isRefusal(await send(exec, 'POST'), 400, 'bad_request');
    isRefusal(await send(exec, 'POST'), 400, 'bad_request');
    isRefusal(await send(exec, 'POST'), 429, 'rate_limit_exceeded');
    isRefusal(await http(own.url, exec, { method: 'POST', raw: '{' }), 401, 'invalid_api_key');
    await own.close();
  });

  test('403: a scope for reading does not write, and no scope of another feature helps', async () => {
    const reader = await createAccount(gateway, { scopes: ['keys:read'] });
    assert.equal((await ask('/v1/keys', { key: reader.key })).status, 200);
    for (const [path, method] of [
      ['/v1/keys', 'POST'],
      [`/v1/keys/${reader.keyId}`, 'PATCH'],
      // Its own one a key may always end.
      [`/v1/keys/${randomUUID()}`, 'DELETE'],
      ['/v1/devices', 'GET'],
    ] as const) {
      const answer = await ask(path, { key: reader.key, method, ...(method !== 'GET' && { body: {} }) });
      isRefusal(answer, 403, 'forbidden', `${method} ${path}`);
      assert.equal(answer.body.error.type, 'permission_error');
    }
  });

  test('404: unknown routes and wrong methods, with and without a key', async () => {
    for (const [method, path] of [
      ['POST', '/'],
      ['GET', '/v1'],
      ['GET', '/v1/nothing'],
      ['GET', '/V1/keys'],
      ['PUT', '/v1/keys'],
      ['DELETE', '/v1/keys'],
      ['POST', '/health'],
      ['PATCH', '/v1/devices'],
      ['OPTIONS', '/v1/keys'],
      ['GET', `/v1/hosts/${randomUUID()}/exec`],
    ] as const) {
      for (const key of [account.key, '']) {
        isRefusal(
          await http(gateway.url, path, { method, ...(key && { key }) }),
          404,
          'not_found',
          `${method} ${path}`,
        );
      }
    }
    const head = await fetch(`${gateway.url}/nowhere`, { method: 'HEAD' });
    assert.deepEqual([head.status, await head.text()], [404, '']);
  });

  test('413: a body over 12 MiB, declared or chunked; one of exactly 12 MiB is read', async () => {
    const body = (bytes: number) => `{"name":"x","pad":"${'p'.repeat(bytes - 21)}"}`;
    assert.equal((await ask('/v1/keys', { raw: body(12 * mib) })).status, 201);
    isRefusal(await ask('/v1/keys', { raw: body(12 * mib + 1) }), 413, 'payload_too_large');
    const chunked = await fetch(`${gateway.url}/v1/keys`, {
      method: 'POST',
      headers: { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' },
      body: new Blob([body(12 * mib + 1)]).stream(),
      duplex: 'half',
    });
    assert.equal(chunked.status, 413);
    assert.equal(((await chunked.json()) as { error: { code: string } }).error.code, 'payload_too_large');
    // Refused by its declared length alone, before a byte of it has come.
    const head = `POST /v1/keys HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${account.key}\r\ncontent-type: application/json\r\n`;
    isRefusal(await raw(gateway.url, `${head}content-length: 99999999999\r\n\r\n`), 413, 'payload_too_large');
  });

  test('429: integer Retry-After within the minute, RateLimit headers on every answer', async () => {
    await using own = await startGateway(database, { settings: { SVC_RATE_REQUESTS: '3' } });
    await withinOneMinute(async () => {
      const { key } = await createAccount(own);
      for (const left of [2, 1, 0]) {
        const answer = await http(own.url, '/v1/keys', { key });
        assert.equal(answer.status, 200);
        assert.match(answer.headers.get('ratelimit') ?? '', new RegExp(`^"requests";r=${left};t=\\d+$`));
        assert.equal(answer.headers.get('ratelimit-policy'), '"requests";q=3;w=60');
      }
      const refused = await http(own.url, '/v1/keys', { key });
      isRefusal(refused, 429, 'rate_limit_exceeded');
      assert.equal(refused.body.error.type, 'rate_limit_error');
      const wait = refused.headers.get('retry-after') ?? '';
      assert.match(wait, /^\d+$/);
      assert.ok(Number(wait) >= 1 && Number(wait) <= 60);
      assert.match(refused.headers.get('ratelimit') ?? '', /^"requests";r=0;t=\d+$/);
    });
  });

  test('500: a fault of ours tells nothing of the database, and its log line carries the trace id', async () => {
    const lines: string[] = [];
    const log = { write: (line: string) => lines.push(line) } as unknown as NodeJS.WritableStream;
    await using broken = await openTest({ log });
    const {
      gateway: own,
      account: { key },
    } = broken;
    await asOwner(broken.database, (sql) => sql`alter table devices.devices rename to elsewhere`);
    const answer = await http(own.url, '/v1/devices', { key, headers: { 'x-request-id': 'find-me' } });
    isRefusal(answer, 500, 'internal_error');
    assert.equal(answer.body.error.type, 'api_error');
    assert.doesNotMatch(JSON.stringify(answer.body), /devices|relation|select|postgres|\.ts|\//i);
    assert.ok(lines.some((line) => line.includes('find-me') && line.includes('devices')));
  });

  test('a quoted, repeated or folded header harms nothing', async () => {
    const request = (lines: string) =>
      raw(gateway.url, `GET /v1/keys HTTP/1.1\r\nhost: x\r\n${lines}connection: close\r\n\r\n`);
    const key = `authorization: Bearer ${account.key}\r\n`;
    assert.equal((await request(`${key}x-request-id: a\r\nx-request-id: b\r\n`)).status, 200);
    // Of two keys the first counts, as Node reads it; a second one cannot stand in.
    assert.equal((await request(`authorization: Bearer svc_x\r\n${key}`)).status, 401);
    assert.ok([200, 400].includes((await request(`${key}x-request-id: \xff\xfe\r\n`)).status));
    assert.equal((await request(`${key}idempotency-key: a\r\nidempotency-key: b\r\n`)).status, 200);
    isRefusal(await request(`${key}x-a: one\r\n two\r\n`.replace('x-a', 'x-request-id')), 400, 'bad_request');
  });
});

describe('a gateway without its database', () => {
  const { database: plain } = shared(() => openTestPool(1));

  test('503 with Retry-After while it cannot be reached, liveness unharmed, and 200 once it is back', async () => {
    await using proxied = await proxyDatabase(plain);
    const { database, proxy } = proxied;
    await using gateway = await startGateway(database);
    const { key } = await createAccount(gateway);
    assert.equal((await http(gateway.url, '/v1/devices', { key })).status, 200);
    await proxy.cut();
    for (let i = 0; i < 12; i++) {
      const answer = await http(gateway.url, '/v1/devices', { key, signal: AbortSignal.timeout(hangMs) });
      isRefusal(answer, 503, 'unavailable', `request ${i}`);
      assert.match(answer.headers.get('retry-after') ?? '', /^\d+$/);
    }
    const live = await http(gateway.url, '/health');
    assert.deepEqual([live.status, live.body.ok], [200, true]);
    await proxy.restore();
    await until(async () => (await http(gateway.url, '/v1/devices', { key })).status === 200);
    for (let i = 0; i < 20; i++) assert.equal((await http(gateway.url, '/v1/devices', { key })).status, 200);
  });

  test('closes in order though the database is gone', async () => {
    await using proxied = await proxyDatabase(plain);
    const { database, proxy } = proxied;
    await using gateway = await startGateway(database);
    const { key } = await createAccount(gateway);
    assert.equal((await http(gateway.url, '/v1/devices', { key })).status, 200);
    await proxy.cut();
    await gateway.close();
  });

  test('answers every one of many requests at once when the connections break under them, and recovers', async () => {
    await using proxied = await proxyDatabase(plain);
    const { database, proxy } = proxied;
    await using gateway = await startGateway(database);
    const { key } = await createAccount(gateway);
    const burst = () =>
      Promise.all(
        Array.from({ length: 40 }, () =>
          http(gateway.url, '/v1/devices', { key, signal: AbortSignal.timeout(hangMs) }).then(({ status }) => status),
        ),
      );
    await burst();
    for (let round = 0; round < 3; round++) {
      const answers = burst();
      await proxy.cut();
      const statuses = new Set([...(await answers), ...(await burst())]);
      assert.ok(
        [...statuses].every((status) => status === 200 || status === 503),
        [...statuses].join(),
      );
      await proxy.restore();
      await until(async () => (await http(gateway.url, '/v1/devices', { key })).status === 200);
      assert.deepEqual(new Set(await burst()), new Set([200]), 'every connection of the pool is well again');
    }
  });
});

describe('usage records', () => {
  test('one per authenticated request with what it was, all there after a close; none for open routes', async () => {
    await using t = await openTest({ gateways: 2 });
    const { gateway, second } = t;
    const { key, id, keyId } = t.account;
    const device = randomUUID();
    const begun = Date.now();
    const headers = { 'x-svc-device': device.toUpperCase(), 'x-request-id': 'trace-1' };
    const answer = await fetch(`${gateway.url}/v1/keys`, { headers: { ...headers, authorization: `Bearer ${key}` } });
    const { length } = await answer.text();
    await http(gateway.url, '/v1/keys', { key, raw: '{', headers: { 'x-request-id': 'trace-2' } });
    await http(gateway.url, `/v1/keys/${randomUUID()}`, {
      method: 'DELETE',
      key,
      headers: { 'x-request-id': 'trace-3' },
    });
    await http(gateway.url, '/health');
    await http(gateway.url, '/health/ready');
    await http(gateway.url, '/status');
    await http(gateway.url, '/v1/keys');
    await http(gateway.url, '/nowhere', { key });
    await gateway.close();
    const rows = await second.kernel.sql`select * from kernel.usage_records order by at, trace_id`;
    const seen = rows.map((row) => [row['route'], row['status'], row['trace_id'], row['device_id']]);
    assert.deepEqual(seen, [
      ['keys.list', 200, 'trace-1', device],
      ['keys.create', 400, 'trace-2', null],
      ['keys.revoke', 404, 'trace-3', null],
    ]);
    const [first] = rows;
    assert.deepEqual([first?.['account_id'], first?.['key_id'], first?.['bytes']], [id, keyId, length]);
    assert.equal(first?.['cost_micro_usd'], 0);
    assert.ok(first?.['ms'] >= 0 && first?.['ms'] <= Date.now() - begun + 1_000);
    const at = Date.parse(first?.['at']);
    assert.ok(at >= begun - 1_000 && at <= Date.now() + 1_000);
  });
});
