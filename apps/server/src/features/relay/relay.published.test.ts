import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { createAccount, http, openTest, type TestAccount, until } from '../../testing.ts';
import { shared } from '../../testing.shared.ts';
import { join } from '../environments/environments.testing.ts';
import { enrolled, openSocket, TestDaemon } from './relay.testing.ts';

describe('published ports', () => {
  const t = shared(() => openTest({ gateways: 2 }));
  /** What runs on the machine: it tells what it was asked, and tries to plant cookies. */
  let page: Server;
  let port: number;
  before(async () => {
    const tell = (asked: IncomingMessage, answer: ServerResponse): void => {
      answer.setHeader('set-cookie', ['svc_port=planted; Path=/', 'own=1; Domain=localhost']);
      if (asked.url === '/endless') answer.write('begun');
      else if (asked.url === '/101')
        answer.socket?.end('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n');
      else
        void text(asked).then((body) =>
          answer.end(JSON.stringify({ url: asked.url, method: asked.method, headers: asked.headers, body })),
        );
    };
    page = createServer(tell).on('upgrade', (_asked, socket: Socket) => {
      socket.on('error', () => {});
      socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n');
      socket.pipe(socket);
    });
    page.listen(0, '127.0.0.1');
    await once(page, 'listening');
    port = (page.address() as AddressInfo).port;
  });
  after(() => {
    page.closeAllConnections();
    page.close();
  });

  /** A machine whose port is published, and people who may see it or not. */
  async function published(visibility: string, at = t.gateway) {
    const owner = await createAccount(t.gateway);
    const env = await enrolled(t.gateway, owner);
    const path = `/v1/environments/${env.id}`;
    const headers = { authorization: `Bearer ${owner.key}`, 'x-svc-device': env.deviceId };
    const daemon = new TestDaemon(`${at.url}/relay${path}/serve`, headers);
    const status = async () => (await http(t.gateway.url, `/relay${path}/status`, { key: owner.key })).body;
    await until(async () => (await status()).usable === true);
    const member = async (role: string) => {
      const account = await createAccount(t.gateway);
      await join(t.gateway, env.id, { by: owner, account, role });
      return account;
    };
    const publish = (to: string) =>
      http(t.gateway.url, `${path}/ports/${port}`, { method: 'PUT', key: owner.key, body: { visibility: to } });
    assert.equal((await publish(visibility)).status, 200);
    const link = async ({ key }: Pick<TestAccount, 'key'>, of = port) =>
      http(t.gateway.url, `${path}/ports/${of}/link`, { method: 'POST', key });
    return {
      ...env,
      path,
      owner,
      member,
      publish,
      link,
      byPath: `${t.gateway.url}/relay/p/${env.id}/${port}`,
      [Symbol.asyncDispose]: () => daemon.close(),
    };
  }

  interface Seen {
    status: number;
    headers: IncomingHttpHeaders;
    text: string;
  }

  /** Asks for an address below `localhost`, whose name the system need not know. */
  async function visit(
    address: string,
    headers: Record<string, string> = {},
    method = 'GET',
    body = '',
  ): Promise<Seen> {
    const { host, port: at, pathname, search } = new URL(address);
    const to = {
      host: '127.0.0.1',
      port: at,
      path: pathname + search,
      method,
      headers: { host, ...headers },
      agent: false,
    };
    const sent = request(to).end(Buffer.from(body));
    const [answer] = await once(sent, 'response');
    return { status: answer.statusCode, headers: answer.headers, text: await text(answer) };
  }

  const browser = { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
  const cookieIn = ({ headers }: Seen) => (headers['set-cookie']?.[0] ?? '').split(';', 1).join('');

  /** Comes with a link of this account; answers the origin and the cookie. */
  async function enter(env: Awaited<ReturnType<typeof published>>, account = env.owner) {
    const { url } = (await env.link(account)).body;
    const first = await visit(url, browser);
    assert.equal(first.status, 303);
    return { origin: new URL(url).origin, cookie: cookieIn(first), url };
  }

  test('a browser comes in once with a ticket, and with its cookie from then on; the page sees neither', async () => {
    await using env = await published('owner');
    const { status, body } = await env.link(env.owner);
    assert.equal(status, 201);
    assert.match(body.url, new RegExp(`^http://${port}--p-[a-z0-9-]+\\.localhost:\\d+/\\?svc_ticket=[\\w-]{32}$`));
    assert.ok(Date.parse(body.expires_at) - Date.now() < 120_000);
    const first = await visit(`${body.url}&a=1&b=%2F`, browser);
    const { origin } = new URL(body.url);
    assert.deepEqual([first.status, first.headers.location], [303, `${origin}/?a=1&b=%2F`]);
    assert.match(String(first.headers['set-cookie']), /^svc_port=\S+; Path=\/; Max-Age=43200; HttpOnly; SameSite=Lax$/);
    assert.equal((await visit(body.url, browser)).status, 403, 'a second time');
    const seen = await visit(`${origin}/x?y`, { ...browser, cookie: `${cookieIn(first)}; own=2` });
    const told = JSON.parse(seen.text);
    assert.deepEqual([told.url, told.headers.cookie, told.headers.host], ['/x?y', 'own=2', `localhost:${port}`]);
    assert.deepEqual(seen.headers['set-cookie'], ['own=1']);
    assert.deepEqual((await visit(`${origin}//evil.test/?svc_ticket=x`, browser)).status, 403);
  });

  test('each visibility lets in whom it names, and answers everybody else alike', async () => {
    const outcomes: Record<string, Record<string, number>> = {};
    for (const visibility of ['owner', 'org', 'authenticated', 'public']) {
      await using env = await published(visibility);
      const people = {
        owner: env.owner,
        developer: await env.member('developer'),
        viewer: await env.member('viewer'),
        stranger: await createAccount(t.gateway),
      };
      const of: Record<string, number> = {};
      for (const [who, account] of Object.entries(people)) {
        of[who] = (await env.link(account)).status;
        const { status } = await visit(`${env.byPath}/`, { authorization: `Bearer ${account.key}` });
        assert.equal(status, of[who] === 201 ? 200 : 403, `${visibility} ${who}`);
      }
      of['nobody'] = (await visit(`${env.byPath}/`)).status;
      outcomes[visibility] = of;
    }
    assert.deepEqual(outcomes, {
      owner: { owner: 201, developer: 201, viewer: 403, stranger: 404, nobody: 403 },
      org: { owner: 201, developer: 201, viewer: 201, stranger: 404, nobody: 403 },
      authenticated: { owner: 201, developer: 201, viewer: 201, stranger: 201, nobody: 403 },
      public: { owner: 201, developer: 201, viewer: 201, stranger: 201, nobody: 200 },
    });
  });

  test('a port that is not published, is not one, or is of nothing has no link and no page', async () => {
    await using env = await published('public');
    const { url, expires_at: ends } = (await env.link(env.owner)).body;
    assert.deepEqual([new URL(url).search, ends], ['', null]);
    assert.equal((await visit(url)).status, 200);
    assert.equal((await env.link(env.owner, 1)).status, 404);
    assert.equal((await env.link(env.owner, 0)).status, 400);
    const elsewhere = url.replace(`${port}--`, '1--');
    const texts = new Set<string>();
    for (const address of [elsewhere, url.replace('--p-', '--q-'), `${env.byPath.replace(/\d+$/, '1')}/`]) {
      const { status, text } = await visit(address, { authorization: `Bearer ${env.owner.key}` });
      assert.equal(status, 403);
      texts.add(text);
    }
    assert.equal(texts.size, 1);
    const removed = await http(t.gateway.url, `${env.path}/ports/${port}`, { method: 'DELETE', key: env.owner.key });
    assert.equal(removed.status, 200);
    assert.equal((await visit(url)).status, 403);
  });

  test('a page of another origin cannot use the cookie, though it is of the same site; a link can', async () => {
    await using env = await published('owner');
    const { origin, cookie } = await enter(env);
    const as = (site: string, mode: string, dest: string, more: Record<string, string> = {}) =>
      visit(`${origin}/`, { cookie, 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': dest, ...more });
    assert.equal((await as('same-origin', 'cors', 'empty', { origin })).status, 200);
    assert.equal((await as('same-site', 'navigate', 'document')).status, 200);
    assert.equal((await as('same-site', 'no-cors', 'image')).status, 403);
    assert.equal((await as('same-site', 'navigate', 'iframe')).status, 403);
    assert.equal((await as('same-site', 'cors', 'empty', { origin: 'http://3000--other.localhost' })).status, 403);
    assert.equal((await visit(`${origin}/`, { cookie, origin: 'http://evil.test' })).status, 403);
    assert.equal((await visit(`${origin}/`, { cookie, origin: 'null' }, 'POST')).status, 403);
    const navigation = { ...browser, 'sec-fetch-site': 'cross-site' };
    assert.equal((await visit(`${origin}/`, { cookie, ...navigation }, 'POST')).status, 403);
  });

  test('a cookie and a ticket are of one port: those of another, changed or made up ones let nobody in', async () => {
    await using one = await published('owner');
    await using two = await published('owner');
    const [first, second] = [await enter(one), await enter(two)];
    assert.equal((await visit(`${second.origin}/`, { cookie: first.cookie })).status, 403);
    const { url } = (await one.link(one.owner)).body;
    assert.equal((await visit(`${second.origin}/${new URL(url).search}`, browser)).status, 403);
    assert.equal((await visit(url, browser)).status, 303, 'it was not taken there');
    const [name, value = ''] = first.cookie.split('=');
    for (const changed of ['', 'a.b.c.d', `${value}x`, value.replace(/^[^.]+/, two.owner.id)])
      assert.equal((await visit(`${first.origin}/`, { cookie: `${name}=${changed}` })).status, 403, changed);
  });

  test('what is open ends within seconds, and the cookie with it, when the role, the port or the key is gone', async () => {
    await using env = await published('owner');
    const member = await env.member('developer');
    const key = async () =>
      (await http(t.gateway.url, '/v1/keys', { method: 'POST', key: member.key, body: { name: 'k', scopes: ['*'] } }))
        .body;
    const endings: Record<string, (made: { id: string }) => Promise<{ status: number }>> = {
      key: ({ id }) => http(t.gateway.url, `/v1/keys/${id}`, { method: 'DELETE', key: member.key }),
      port: () =>
        env
          .publish('org')
          .then(() => http(t.gateway.url, `${env.path}/ports/${port}`, { method: 'DELETE', key: env.owner.key })),
      role: () => http(t.gateway.url, `${env.path}/members/${member.id}`, { method: 'DELETE', key: env.owner.key }),
    };
    for (const [what, end] of Object.entries(endings)) {
      await env.publish('owner');
      const made = await key();
      const { origin, cookie } = await enter(env, made);
      const { port: at, host } = new URL(origin);
      const sent = request({
        host: '127.0.0.1',
        port: at,
        path: '/endless',
        headers: { host, cookie },
        agent: false,
      }).end();
      const [answer] = await once(sent, 'response');
      await once(answer, 'data');
      const closed = new Promise((resolve) => answer.on('error', () => {}).once('close', resolve));
      assert.ok((await end(made)).status < 300, what);
      await closed;
      assert.equal((await visit(`${origin}/`, { cookie })).status, 403, what);
    }
  });

  test('WebSockets go through, from a machine that hangs on another relay too', async () => {
    await using env = await published('owner', t.second);
    const { origin, cookie } = await enter(env);
    const { port: at, host } = new URL(origin);
    const headers = {
      host,
      cookie,
      origin,
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'eA==',
    };
    const sent = request({ host: '127.0.0.1', port: at, headers, agent: false }).end();
    const [, socket] = (await once(sent, 'upgrade')) as [unknown, Socket];
    socket.write('hello');
    assert.equal(String((await once(socket, 'data'))[0]), 'hello');
    socket.destroy();
    assert.equal((await visit(`${origin}/`, { ...headers, origin: 'http://evil.test' })).status, 403);
  });

  test('below the relay a browser is sent to the origin of its own, and another client meets the page in a sandbox', async () => {
    await using env = await published('public');
    const sent = await visit(`${env.byPath}/a?b=c`, browser);
    assert.equal(sent.status, 307);
    assert.match(String(sent.headers.location), new RegExp(`^http://${port}--p-[a-z0-9-]+\\.localhost:\\d+/a\\?b=c$`));
    const seen = await visit(`${env.byPath}/a?b=c`, { 'x-api-key': env.owner.key, authorization: 'Bearer of-the-app' });
    const { url, headers } = JSON.parse(seen.text);
    assert.deepEqual([url, headers.authorization, headers['x-api-key']], ['/a?b=c', 'Bearer of-the-app', undefined]);
    assert.match(String(seen.headers['content-security-policy']), /sandbox allow-scripts/);
    assert.ok(seen.headers['set-cookie']?.every((cookie) => cookie.startsWith(`${port}_p-`)));
    const basic = Buffer.from(`x:${env.owner.key}`).toString('base64');
    const hidden = JSON.parse((await visit(`${env.byPath}/`, { authorization: `Basic ${basic}` })).text);
    assert.equal(hidden.headers.authorization, undefined);
  });

  test('heads and bodies arrive as they were sent, small and large, at the origin and below the relay', async () => {
    for (const gateway of [t.gateway, t.second]) {
      await using env = await published('public', gateway);
      const { origin } = new URL((await env.link(env.owner)).body.url);
      for (const size of [1, 7, 1_000, 14_000, 300_000]) {
        const body = 'x'.repeat(size);
        for (const address of [origin, env.byPath]) {
          const seen = await visit(`${address}/a?b`, { 'x-own': 'é', 'content-length': String(size) }, 'POST', body);
          const { method, url, body: came, headers } = JSON.parse(seen.text);
          assert.deepEqual([method, url, came.length, headers['x-own']], ['POST', '/a?b', size, 'é']);
        }
      }
      assert.equal((await visit(`${origin}/101`)).status, 502);
    }
  });

  test('a machine that refuses, or is away, is said in words', async () => {
    await using env = await published('public');
    const { url } = (await env.link(env.owner)).body;
    await http(t.gateway.url, `${env.path}/ports/22`, {
      method: 'PUT',
      key: env.owner.key,
      body: { visibility: 'public' },
    });
    const refused = await visit(url.replace(`${port}--`, '22--'));
    assert.deepEqual([refused.status, refused.text.trim()], [502, 'this machine forwards no such port']);
    await env[Symbol.asyncDispose]();
    await until(async () => (await visit(url)).text.includes('the daemon of this environment'));
  });

  test('who visits a machine that stands still starts it, if it may, and sees how far it is', async () => {
    await using env = await published('org');
    const viewer = await env.member('viewer');
    const [mine, theirs] = [await enter(env), await enter(env, viewer)];
    await env[Symbol.asyncDispose]();
    const { sql } = t.gateway.kernel;
    await sql`
      update environments.environments set provider = 'managed_b', region = 'nbg1', size = 'small',
        hourly_rate_micro_eur = 30000, metadata = '{"budget_micro_eur": null}', state = 'stopped'
      where id = ${env.id}`;
    const state = async () =>
      (await http(t.gateway.url, env.path, { key: env.owner.key })).body.environment.state as string;
    const low = await visit(`${theirs.origin}/`, { cookie: theirs.cookie });
    assert.deepEqual([low.status, await state()], [503, 'stopped']);
    assert.match(low.text, /stands still; a maintainer can start it/);
    const attach = (query: string, { key }: TestAccount) =>
      openSocket(`${t.gateway.url}/relay${env.path}/attach?${query}`, { authorization: `Bearer ${key}` });
    await assert.rejects(attach(`kind=port&port=${port}`, viewer), { status: 409, message: /stands still/ });
    const pages = await Promise.all([1, 2, 3].map(() => visit(`${mine.origin}/`, { cookie: mine.cookie })));
    for (const page of pages) {
      assert.deepEqual([page.status, page.headers['retry-after']], [503, '5']);
      assert.match(page.text, /http-equiv="refresh"[^]*is being started/);
    }
    assert.equal(await state(), 'starting');
    await assert.rejects(attach('kind=terminal', env.owner), { status: 409, message: /is being started/ });
    await sql`update environments.environments set state = 'stopped' where id = ${env.id}`;
    await assert.rejects(attach('kind=terminal', env.owner), { status: 409, message: /is being started/ });
    const { events } = (await http(t.gateway.url, env.path, { key: env.owner.key })).body;
    const starts = events.filter(({ kind }: { kind: string }) => kind === 'state:stopped->starting');
    assert.deepEqual(
      starts.map((one: { actorUserId: string }) => one.actorUserId),
      [env.owner.id, env.owner.id],
    );
  });
});
