import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { PassThrough } from 'node:stream';
import { describe, test } from 'node:test';
import { testClock } from '../../kernel/base/clock.ts';
import { shared } from '../../testing.shared.ts';
import { createAccount, http, openTest, type TestAccount, until } from '../../testing.ts';
import { drawBadge } from './heartbeats.badges.ts';

const minute = 60_000;

describe('badges of monitors', () => {
  const clock = testClock(Date.UTC(2026, 0, 1));
  const log = new PassThrough();
  let logged = '';
  const { gateway, second, account } = shared(() => {
    log.setEncoding('utf8').on('data', (chunk: string) => (logged += chunk));
    return openTest({ gateways: 2, clock, settings: { SVC_LOG_LEVEL: 'trace' }, log });
  });
  type Keyed = Pick<TestAccount, 'key'>;
  const api = (method: string, path: string, body?: unknown, { key }: Keyed = account, headers = {}) =>
    http(gateway.url, path, { method, key, headers, ...(body !== undefined && { body }) });
  const create = async (body: object = {}, owner: Keyed = account) => {
    const made = await api('POST', '/v1/heartbeats', { name: 'job', period_s: 60, grace_s: 60, ...body }, owner);
    return { ...made.body, path: new URL(made.body.ping_url).pathname };
  };
  /** Paths of a new badge: of a monitor, or of all of the account. */
  const badge = async (id?: string, owner: Keyed = account) => {
    const made = await api('POST', `/v1/heartbeats${id === undefined ? '' : `/${id}`}/badge`, undefined, owner);
    assert.deepEqual([made.status, Object.keys(made.body)], [201, ['svg_url', 'json_url', 'created_at']]);
    return { svg: new URL(made.body.svg_url).pathname, json: new URL(made.body.json_url).pathname };
  };
  const says = async (path: string) => (await http(gateway.url, path)).body;
  const statusOf = async (path: string, at = gateway) => (await http(at.url, path)).status;

  test('shows name and state without a key to any page, as shields.io reads it, and is never cached', async () => {
    const { id, path } = await create({ name: 'Nightly <import>' });
    const { json, svg } = await badge(id);
    const shown = (message: string, color: string) => ({ schemaVersion: 1, label: 'Nightly <import>', message, color });
    assert.deepEqual(await says(json), shown('new', 'lightgrey'));
    await http(gateway.url, path);
    assert.deepEqual(await says(json), shown('up', 'brightgreen'));
    clock.advance(minute);
    assert.deepEqual(await says(json), shown('late', 'orange'));
    clock.advance(minute);
    await until(async () => (await says(json)).message === 'down');
    assert.deepEqual(await says(json), shown('down', 'red'));
    await api('PATCH', `/v1/heartbeats/${id}`, { paused: true });
    assert.deepEqual(await says(json), shown('paused', 'lightgrey'));
    for (const [where, type] of [
      [json, 'application/json; charset=utf-8'],
      [svg, 'image/svg+xml; charset=utf-8'],
    ] as const) {
      for (const method of ['GET', 'HEAD', 'OPTIONS']) {
        const { status, headers } = await fetch(second.url + where, { method });
        assert.equal(status, method === 'OPTIONS' ? 204 : 200);
        assert.equal(headers.get('access-control-allow-origin'), '*');
        assert.equal(headers.get('cache-control'), 'no-store');
        if (method !== 'OPTIONS') assert.equal(headers.get('content-type'), type);
      }
    }
    const { headers } = await fetch(gateway.url + svg);
    assert.equal(headers.get('content-security-policy'), "default-src 'none'; sandbox");
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
    const picture = await (await fetch(gateway.url + svg)).text();
    assert.match(picture, /^<svg [^>]*aria-label="Nightly &lt;import&gt;: paused">.*<\/svg>$/);
  });

  test('a picture holds a name as text, whatever it is made of, and nothing that runs or loads', () => {
    const label = `"><script>alert(1)</script><image href='x' onload=1> & \u0001\ufffe\u001b日本語 😀`;
    const picture = drawBadge({ label, message: 'up', color: 'brightgreen' });
    const tags = [...picture.matchAll(/<\/?([a-z]+)/g)].map(([, name]) => name);
    assert.deepEqual(new Set(tags), new Set(['svg', 'title', 'rect', 'g', 'text']));
    assert.ok(picture.includes('&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;'));
    assert.ok(picture.includes('&amp; \ufffd\ufffd\ufffd日本語 😀'));
    assert.equal(
      [...picture.matchAll(/ (?:href|src|style|on\w+)=[^&]/g)].filter(([found]) => !/onload|href/.test(found)).length,
      0,
    );
  });

  test('of all monitors it says the worst, without a name or a number; new and paused ones do not count', async () => {
    const owner = await createAccount(gateway);
    const { json } = await badge(undefined, owner);
    const message = async () => (await says(json)).message;
    assert.deepEqual(await says(json), { schemaVersion: 1, label: 'monitors', message: 'new', color: 'lightgrey' });
    const [one, two, three] = [
      await create({}, owner),
      await create({ cron: '0 * * * *', period_s: null }, owner),
      await create({}, owner),
    ];
    await api('PATCH', `/v1/heartbeats/${three.id}`, { paused: true }, owner);
    assert.equal(await message(), 'new');
    for (const { path } of [one, two]) await http(gateway.url, path);
    assert.equal(await message(), 'up');
    clock.advance(minute);
    assert.equal(await message(), 'late');
    await http(gateway.url, `${two.path}/fail`);
    assert.equal(await message(), 'down');
    await api('DELETE', `/v1/heartbeats/${two.id}`, undefined, owner);
    await http(gateway.url, one.path);
    assert.equal(await message(), 'up');
    const asked = await Promise.all(Array.from({ length: 130 }, () => http(gateway.url, json)));
    const refused = asked.find(({ status }) => status !== 200);
    assert.deepEqual([refused?.status, refused?.body.error.code], [429, 'rate_limit_exceeded']);
  });

  test('there is none unless it is made; it is shown once, and made anew or removed the old address answers 404', async () => {
    const owner = await createAccount(gateway);
    const { id } = await create({}, owner);
    const list = async (query = '') => (await api('GET', `/v1/heartbeats/badges${query}`, undefined, owner)).body;
    assert.deepEqual(await list(), { badges: [] });
    for (const path of [`/v1/heartbeats/${id}/badge`, '/v1/heartbeats/badge']) {
      const remove = () => api('DELETE', path, undefined, owner);
      assert.equal((await remove()).status, 404);
      const headers = { 'idempotency-key': randomUUID() };
      const make = async (extra = {}) => (await api('POST', path, undefined, owner, extra)).body;
      const before = new URL((await make()).json_url).pathname;
      const [first, again] = [await make(headers), await make(headers)];
      assert.deepEqual(again, first);
      const after = new URL(first.json_url).pathname;
      for (const at of [gateway, second]) {
        assert.deepEqual([await statusOf(before, at), await statusOf(after, at)], [404, 200]);
      }
      const atOnce = await Promise.all([1, 2, 3].map(() => make()));
      const left = await Promise.all(atOnce.map((one) => statusOf(new URL(one.json_url).pathname)));
      assert.deepEqual(
        left.toSorted((a, b) => a - b),
        [200, 404, 404],
      );
      assert.deepEqual((await remove()).body, { deleted: true });
      for (const one of atOnce) assert.equal(await statusOf(new URL(one.svg_url).pathname, second), 404);
    }
    await badge(id, owner);
    await badge(undefined, owner);
    const { badges, next_cursor } = await list('?limit=1');
    const rest = await list(`?limit=1&cursor=${next_cursor}`);
    const found = [...badges, ...rest.badges].map((one: { heartbeat_id?: string }) => one.heartbeat_id);
    assert.deepEqual(new Set(found), new Set([id, undefined]));
    assert.equal((await list('?cursor=x')).error.code, 'bad_request');
    assert.ok(!JSON.stringify(await list()).includes('/badge/'));
    await api('DELETE', `/v1/heartbeats/${id}`, undefined, owner);
    assert.equal((await list()).badges.length, 1);
    const { acts } = (await api('GET', '/v1/audit', undefined, owner)).body;
    const actions = new Set(acts.map((act: { action: string }) => act.action));
    const expected = [
      'heartbeats.createAccountBadge',
      'heartbeats.createBadge',
      'heartbeats.removeAccountBadge',
      'heartbeats.removeBadge',
    ];
    assert.deepEqual(actions, new Set(expected));
  });

  test('a token shows one badge and opens nothing else; other texts at its place are a 404', async () => {
    const { id, path } = await create();
    const { json } = await badge(id);
    const token = json.slice('/badge/'.length, -'.json'.length);
    const pingToken = path.slice('/ping/'.length);
    for (const where of [
      `/ping/${token}`,
      `/ping/${token}/fail`,
      `/badge/${pingToken}.json`,
      `/badge/${pingToken}.svg`,
      `/badge/${token}`,
      `/badge/${token}.png`,
      `/badge/${token}.svg.json`,
      `/badge/${token}x.json`,
      `/badge/${'x'.repeat(32)}.svg`,
      '/badge/.svg',
      '/badge/%00.json',
    ]) {
      const answer = await http(gateway.url, where);
      assert.deepEqual([answer.status, answer.body.error?.code], [404, 'not_found'], where);
    }
    assert.equal((await http(gateway.url, json, { method: 'POST' })).status, 404);
    assert.equal((await api('GET', '/v1/heartbeats', undefined, { key: token })).status, 401);
    assert.ok(!logged.includes(token));
    const rows = await gateway.kernel.sql`select b::text as text from heartbeats.badges b`;
    assert.ok(rows.every((row) => !row['text'].includes(token)));
  });

  test('nobody makes or ends a badge of what is not theirs, or with a key that may only read', async () => {
    const { id } = await create();
    const { json } = await badge(id);
    const stranger = await createAccount(gateway);
    for (const method of ['POST', 'DELETE']) {
      for (const target of [id, randomUUID()]) {
        assert.equal((await api(method, `/v1/heartbeats/${target}/badge`, undefined, stranger)).status, 404);
      }
      const reader = (await api('POST', '/v1/keys', { scopes: ['heartbeats:read'] })).body;
      assert.equal((await api(method, `/v1/heartbeats/${id}/badge`, undefined, reader)).status, 403);
      assert.equal((await api(method, '/v1/heartbeats/badge', undefined, reader)).status, 403);
    }
    assert.equal(await statusOf(json), 200);
  });

  test('of a suspended account nothing is shown until it is resumed', async () => {
    const owner = await createAccount(gateway);
    const { id } = await create({}, owner);
    const paths = [(await badge(id, owner)).json, (await badge(undefined, owner)).svg];
    const statuses = () => Promise.all(paths.map((path) => statusOf(path)));
    await gateway.kernel.sql`update accounts.accounts set suspended_at = now() where id = ${owner.id}`;
    assert.deepEqual(await statuses(), [404, 404]);
    await gateway.kernel.sql`update accounts.accounts set suspended_at = null where id = ${owner.id}`;
    assert.deepEqual(await statuses(), [200, 200]);
  });
});
