import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { contract, methodsOf, type Route } from '@svc/contract';
import { openPlatform, type Platform } from './features/auth/auth.testing.ts';
import { createLogin } from './features/auth/index.ts';
import { bySystem } from './kernel/records/audit.ts';
import { asOwner, createAccount, http, type TestAccount } from './testing.ts';

/** Every route that asks who calls, with each of its methods. */
const routes = Object.entries(contract)
  .flatMap(([feature, operations]) =>
    Object.entries(operations as Record<string, Route>).map(([verb, route]) => ({ id: `${feature}.${verb}`, route })),
  )
  .filter(({ route }) => route.auth !== 'open')
  .flatMap(({ id, route }) => methodsOf(route).map((method) => ({ id, route, method })));

const pathOf = ({ at, path }: Route): string =>
  `${at === 'relay' ? '/relay' : ''}${path}`.replace(/\{\w+\*?\}/g, () => randomUUID());

const isSocket = ({ answers }: Route): boolean => answers.kind === 'socket';

describe('the cookie of a signed-in person', () => {
  let t: Platform;
  let person: TestAccount;
  let cookie = '';
  before(async () => {
    t = await openPlatform();
    person = await createAccount(t.gateway);
    cookie = await cookieFor(person.id);
  });
  after(() => t?.[Symbol.asyncDispose]());

  const cookieFor = async (accountId: string): Promise<string> => {
    const login = { accountId, amr: ['pwd'], name: 'Test', platform: 'test', network: '127.0.0.1', by: bySystem };
    return `__Host-svc_login=${(await createLogin(t.gateway.kernel, login)).token}`;
  };

  /** The status of a request as a browser sends it; streams are left, and WebSockets are asked for where there are some. */
  const send = async (
    { route, method }: { route: Route; method: string },
    given: Record<string, string>,
    query = '',
  ): Promise<number> => {
    const headers: Record<string, string> = { host: `localhost:${t.port}`, ...given };
    if (isSocket(route))
      Object.assign(headers, {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': Buffer.alloc(16).toString('base64'),
      });
    const body = ['GET', 'HEAD', 'DELETE'].includes(method) ? undefined : '{}';
    if (body !== undefined) headers['content-type'] ??= 'application/json';
    const sent = request({
      host: '127.0.0.1',
      port: t.port,
      path: pathOf(route) + query,
      method,
      headers,
      agent: false,
    });
    sent.end(body);
    const answered = once(sent, 'response');
    const upgraded = once(sent, 'upgrade');
    // Of the two that are waited for, one fails or never comes.
    const [answer] = (await Promise.race([answered, upgraded])) as [IncomingMessage];
    upgraded.catch(() => {});
    answered.catch(() => {});
    sent.destroy();
    return answer.statusCode ?? 0;
  };

  /** What is known of the person's doings. */
  const traces = async (): Promise<unknown> => {
    await Promise.all([t.gateway.kernel.usage.flush(), t.gateway.kernel.audit.flush()]);
    return asOwner(
      t.database,
      (sql) => sql`
        select (select count(*)::int from kernel.audit where account_id = ${person.id}) as acts,
          (select count(*)::int from kernel.usage_records where account_id = ${person.id}) as requests,
          (select count(*)::int from kernel.usage_counts where account_id = ${person.id}) as counted,
          (select count(*)::int from keys.keys where account_id = ${person.id}) as keys,
          (select last_seen_at from auth.logins where account_id = ${person.id}) as seen`,
    );
  };

  const evil = 'https://evil.example';
  const foreign: Record<string, (method: string) => Record<string, string>> = {
    'a page of another site': () => ({ origin: evil, 'sec-fetch-site': 'cross-site' }),
    'a link of another site': () => ({ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }),
    'a page of the same site, such as another port': () => ({
      origin: 'http://localhost:1',
      'sec-fetch-site': 'same-site',
    }),
    'a page without an origin': () => ({ origin: 'null', 'sec-fetch-site': 'cross-site' }),
    'a page without an origin, in an old browser': () => ({ origin: 'null' }),
    'a page of another site, in an old browser': () => ({ origin: evil }),
    'a page of another port, in an old browser': () => ({ origin: 'http://localhost:1' }),
    'nobody knows where': () => ({}),
    'an address that was typed': () => ({ 'sec-fetch-site': 'none' }),
    'another site that names our header': (method): Record<string, string> =>
      method === 'GET' || method === 'HEAD' ? { origin: evil, 'x-svc-hub': '1' } : { 'x-svc-hub': '1' },
  };

  for (const [whence, headersOf] of Object.entries(foreign)) {
    test(`does nothing at any route for ${whence}`, async () => {
      const before = await traces();
      for (const one of routes) {
        // A WebSocket is judged by its origin alone: no page can leave it out.
        const status = await send(one, { cookie, ...headersOf(one.method) });
        assert.equal(status, 401, `${one.method} ${one.id}`);
      }
      assert.deepEqual(await traces(), before);
    });
  }

  test('counts for nothing beside an Authorization header, or a key in the query', async () => {
    const own = { cookie, 'sec-fetch-site': 'same-origin', origin: `http://localhost:${t.port}` };
    const before = await traces();
    for (const one of routes) {
      assert.equal(await send(one, { ...own, authorization: 'Basic Zm9vOmJhcg==' }), 401, `${one.method} ${one.id}`);
      const key = person.key;
      assert.equal(await send(one, own, `?api_key=${key}`), 401, `${one.method} ${one.id}`);
    }
    assert.deepEqual(await traces(), before);
    const other = await createAccount(t.gateway);
    const { body } = await http(`http://localhost:${t.port}`, '/v1/keys', { key: other.key, headers: own });
    assert.deepEqual(
      body.keys.map(({ id }: { id: string }) => id),
      [other.keyId],
    );
  });

  test('is let in at every route for our own pages, and is one login, not two', async () => {
    const origin = `http://localhost:${t.port}`;
    for (const one of routes) {
      const account = await createAccount(t.gateway);
      const own = await cookieFor(account.id);
      const status = await send(one, { cookie: own, 'sec-fetch-site': 'same-origin', origin });
      assert.ok(status !== 401 && status !== 500, `${one.method} ${one.id}: ${status}`);
    }
    const before = await traces();
    const keys = { route: contract.keys.list as Route, method: 'GET' };
    assert.equal(await send(keys, { cookie, 'x-svc-hub': '1' }), 200);
    assert.equal(await send(keys, { cookie, origin }), 200);
    assert.notDeepEqual(await traces(), before);
    assert.equal(
      await send(keys, { cookie: `${cookie}; __Host-svc_login=planted`, 'sec-fetch-site': 'same-origin' }),
      401,
    );
  });

  test('does nothing at the pages of the hub for another site', async () => {
    const before = await traces();
    for (const [method, path, status] of [
      ['POST', '/hub/', 404],
      ['DELETE', '/hub/login', 401],
      ['GET', '/hub/login', 401],
      ['POST', '/hub/login/start', 403],
    ] as const) {
      for (const headersOf of Object.values(foreign)) {
        const { status: answered } = await http(`http://localhost:${t.port}`, path, {
          method,
          headers: { cookie, ...headersOf(method), 'content-type': 'application/x-www-form-urlencoded' },
          ...(method === 'POST' && { raw: 'current=end&others=end' }),
        });
        assert.equal(answered, status, `${method} ${path} ${JSON.stringify(headersOf(method))}`);
      }
    }
    assert.deepEqual(await traces(), before);
  });
});
