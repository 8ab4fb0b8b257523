import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { PassThrough } from 'node:stream';
import { describe, test } from 'node:test';
import { shared } from '../../testing.shared.ts';
import { createAccount, http, openTest, type TestAccount } from '../../testing.ts';

describe('ping keys and slugs', () => {
  const log = new PassThrough();
  let logged = '';
  const { gateway, second, account } = shared(() => {
    log.setEncoding('utf8').on('data', (chunk: string) => (logged += chunk));
    return openTest({ gateways: 2, settings: { SVC_LOG_LEVEL: 'trace', SVC_QUOTA_HEARTBEATS: '12' }, log });
  });
  const api = (method: string, path: string, body?: unknown, key = account.key, headers = {}) =>
    http(gateway.url, path, { method, key, headers, ...(body !== undefined && { body }) });
  const create = (body: object, from = account) =>
    api('POST', '/v1/heartbeats', { name: 'job', period_s: 600, ...body }, from.key);
  const ping = (path: string, at = gateway, init = {}) => http(at.url, path, init);
  const statusesOf = (paths: readonly string[], at = gateway) =>
    Promise.all(paths.map(async (path) => (await ping(path, at)).status));
  /** An account with a ping key. */
  const withKey = async () => {
    const owner = await createAccount(gateway);
    const made = await api('POST', '/v1/heartbeats/ping-key', undefined, owner.key);
    assert.equal(made.status, 201);
    return { ...owner, pingKey: made.body.ping_key as string };
  };
  const monitorsOf = async ({ key }: Pick<TestAccount, 'key'>) =>
    (await api('GET', '/v1/heartbeats', undefined, key)).body.heartbeats;
  const kindsOf = async ({ key }: Pick<TestAccount, 'key'>, id: string) =>
    (await api('GET', `/v1/heartbeats/${id}/pings`, undefined, key)).body.pings.map(
      (one: { kind: string; body?: string }) => [one.kind, one.body].filter(Boolean).join(' '),
    );

  test('one key pings every monitor of the account by its slug, as its own address does', async () => {
    const owner = await withKey();
    const { body } = await create({ slug: 'nightly-import' }, owner);
    assert.equal(body.slug, 'nightly-import');
    const path = `/ping/${owner.pingKey}/nightly-import`;
    for (const end of ['', '/', '/start', '/log', '/0', '/3', '/fail', '?create=1', `/0?rid=${randomUUID()}`]) {
      const answer = await ping(path + end, end.length % 2 ? gateway : second, { raw: end });
      assert.deepEqual([answer.status, answer.body], [200, 'OK'], end);
      assert.equal(answer.headers.get('access-control-allow-origin'), '*');
      assert.equal(answer.headers.get('cache-control'), 'no-store');
    }
    assert.deepEqual((await kindsOf(owner, body.id)).toReversed(), [
      'success',
      'success /',
      'start /start',
      'log /log',
      'exit /0',
      'exit /3',
      'fail /fail',
      'success ?create=1',
      (await kindsOf(owner, body.id))[0],
    ]);
    assert.equal((await ping(path, gateway, { method: 'HEAD' })).status, 200);
    assert.equal((await ping(path, gateway, { method: 'OPTIONS' })).status, 204);
    assert.equal((await ping(`${path}/start`, gateway, { method: 'OPTIONS' })).status, 204);
    for (const end of ['/256', '/-1']) assert.equal((await ping(path + end)).status, 200, end);
    for (const end of ['/finish', '/start/x']) assert.equal((await ping(path + end)).status, 404, end);
    assert.equal((await monitorsOf(owner)).length, 1);
  });

  test('what follows a key is a slug and what follows a token a signal, whatever either looks like', async () => {
    const owner = await withKey();
    const numeric = (await create({ slug: '123' }, owner)).body;
    const start = (await create({ slug: 'start' }, owner)).body;
    const token = new URL(start.ping_url).pathname;
    assert.deepEqual(await statusesOf([`/ping/${owner.pingKey}/123`, `/ping/${owner.pingKey}/start`]), [200, 200]);
    assert.deepEqual(await statusesOf([`/ping/${owner.pingKey}/123/7`, `${token}/123`]), [200, 200]);
    assert.deepEqual(await kindsOf(owner, numeric.id), ['exit', 'success']);
    assert.deepEqual(await kindsOf(owner, start.id), ['exit', 'success']);
    const key = owner.pingKey;
    const nobody = [
      `/ping/${key}`,
      `/ping/${key.slice(3)}/123`,
      `/ping/${key.slice(3)}`,
      `${token}/123/start`,
      `/ping/pk_${'x'.repeat(32)}/123`,
      `/ping/pk_${'x'.repeat(32)}/123?create=1`,
      `/ping/${key}x/123?create=1`,
      `/ping/${key}/124`,
      `/ping/${key}/124?create=0`,
      `/ping/${key}/A%00B`,
      `/ping/${key}/${'x'.repeat(200)}`,
      `/ping/${key}/%ff`,
    ];
    for (const path of nobody) {
      const { status, body } = await ping(path);
      assert.ok(status === (path.endsWith('%ff') ? 400 : 404), `${path}: ${status}`);
      assert.ok(!JSON.stringify(body).includes(key));
    }
    assert.equal((await monitorsOf(owner)).length, 2);
  });

  test('a slug is unique in its account, is changed and taken away, and another account may have it too', async () => {
    const [owner, other] = [await withKey(), await withKey()];
    const { body: first } = await create({ slug: 'backup' }, owner);
    const { body: theirs } = await create({ slug: 'backup' }, other);
    assert.equal(theirs.slug, 'backup');
    const taken = await create({ slug: 'backup' }, owner);
    assert.deepEqual([taken.status, taken.body.error.code], [409, 'slug_taken']);
    const { body: next } = await create({}, owner);
    assert.equal(next.slug, undefined);
    const patch = (id: string, body: object, key = owner.key) => api('PATCH', `/v1/heartbeats/${id}`, body, key);
    const refused = await patch(next.id, { slug: 'backup' });
    assert.deepEqual([refused.status, refused.body.error.code], [409, 'slug_taken']);
    assert.equal((await patch(theirs.id, { slug: 'mine-now' })).status, 404);
    assert.equal((await patch(first.id, { slug: 'backup' })).status, 200, 'its own');
    assert.equal((await patch(first.id, { slug: 'renamed' })).body.slug, 'renamed');
    assert.equal((await patch(next.id, { slug: 'backup' })).body.slug, 'backup');
    assert.equal((await patch(next.id, { name: 'still' })).body.slug, 'backup');
    assert.equal((await patch(next.id, { slug: null })).body.slug, undefined);
    const { pingKey } = owner;
    assert.deepEqual(await statusesOf([`/ping/${pingKey}/renamed`, `/ping/${pingKey}/backup`]), [200, 404]);
    const sent = [1, 2, 3].map(() => create({ slug: 'at-once' }, owner));
    const statuses = (await Promise.all(sent)).map(({ status }) => status);
    assert.deepEqual(
      statuses.toSorted((a, b) => a - b),
      [201, 409, 409],
    );
    const both = await Promise.all([first.id, next.id].map((id) => patch(id, { slug: 'both-want' })));
    assert.deepEqual(
      both.map(({ status }) => status).toSorted((a, b) => a - b),
      [200, 409],
    );
    assert.equal((await ping(`/ping/${other.pingKey}/at-once`)).status, 404);
  });

  test('a slug of another shape, or that is no text, is a 400 with its name', async () => {
    for (const slug of [
      '',
      'ab',
      '-ab',
      'ab-',
      'Ab1',
      'a_b',
      'ä-b',
      'a b',
      'x'.repeat(41),
      'a/b',
      'a\u0000b',
      5,
      {},
      [],
    ]) {
      for (const [method, path] of [
        ['POST', '/v1/heartbeats'],
        ['PATCH', `/v1/heartbeats/${randomUUID()}`],
      ] as const) {
        const answer = await api(method, path, { name: 'x', period_s: 60, slug });
        assert.equal(answer.status, 400, `${method} ${JSON.stringify(slug)}`);
        assert.deepEqual(Object.keys(answer.body.error.details.fieldErrors), ['slug']);
      }
    }
    const owner = await createAccount(gateway);
    for (const slug of ['a1b', 'x'.repeat(40), '0-0']) {
      assert.equal((await create({ slug }, owner)).body.slug, slug);
    }
  });

  test('a key is shown once; made anew or removed it answers 404 at once on every gateway, and tells in the audit log', async () => {
    const owner = await withKey();
    const { body } = await create({ slug: 'job' }, owner);
    const path = `/ping/${owner.pingKey}/job`;
    const shown = await api('GET', '/v1/heartbeats/ping-key', undefined, owner.key);
    assert.deepEqual([shown.status, Object.keys(shown.body)], [200, ['created_at']]);
    assert.deepEqual(await statusesOf([path]), [200]);
    const headers = { 'idempotency-key': randomUUID() };
    const renew = () => api('POST', '/v1/heartbeats/ping-key', undefined, owner.key, headers);
    const [first, again] = [await renew(), await renew()];
    assert.match(first.body.ping_key, /^pk_[A-Za-z0-9_-]{32}$/);
    assert.deepEqual([again.body, again.headers.get('idempotency-replayed')], [first.body, 'true']);
    const renewed = `/ping/${first.body.ping_key}/job`;
    for (const at of [gateway, second])
      assert.deepEqual(await statusesOf([path, `${path}/0`, renewed], at), [404, 404, 200]);
    const atOnce = await Promise.all([1, 2, 3].map(() => api('POST', '/v1/heartbeats/ping-key', undefined, owner.key)));
    const valid = await statusesOf(atOnce.map((one) => `/ping/${one.body.ping_key}/job`));
    assert.deepEqual(
      valid.toSorted((a, b) => a - b),
      [200, 404, 404],
    );
    const remove = () => api('DELETE', '/v1/heartbeats/ping-key', undefined, owner.key);
    assert.deepEqual([(await remove()).body, (await remove()).status], [{ deleted: true }, 404]);
    assert.equal((await api('GET', '/v1/heartbeats/ping-key', undefined, owner.key)).status, 404);
    for (const at of [gateway, second]) {
      const all = atOnce.map((one) => `/ping/${one.body.ping_key}/job?create=1`);
      assert.deepEqual(await statusesOf(all, at), [404, 404, 404]);
      assert.equal((await ping(new URL(body.ping_url).pathname, at)).status, 200, 'its own address goes on');
    }
    const { acts } = (await api('GET', '/v1/audit', undefined, owner.key)).body;
    const actions = acts.map((act: { action: string }) => act.action);
    assert.deepEqual(actions, ['heartbeats.removePingKey', ...Array(5).fill('heartbeats.createPingKey')]);
    const rows = await gateway.kernel.sql`select k::text as text from heartbeats.ping_keys k`;
    const texts = JSON.stringify([rows, acts]) + logged;
    for (const { ping_key } of [first.body, ...atOnce.map((one) => one.body)]) assert.ok(!texts.includes(ping_key));
  });

  test('create=1 makes the monitor of a new slug with a day and an hour, once, and counts against the quota', async () => {
    const owner = await withKey();
    const path = (slug: string) => `/ping/${owner.pingKey}/${slug}?create=1`;
    const together = Array.from({ length: 8 }, (_, i) => ping(path('new-job'), i % 2 ? gateway : second));
    for (const one of await Promise.all(together)) assert.deepEqual([one.status, one.body], [200, 'OK']);
    const [made, ...others] = await monitorsOf(owner);
    assert.deepEqual(
      [made.name, made.slug, made.period_s, made.grace_s, made.cron, made.status, others.length],
      ['new-job', 'new-job', 86_400, 3_600, null, 'up', 0],
    );
    assert.equal((await kindsOf(owner, made.id)).length >= 1, true);
    const bad = await ping(path('Bad_Slug'));
    assert.deepEqual([bad.status, Object.keys(bad.body.error.details.fieldErrors)], [400, ['slug']]);
    assert.equal((await ping(`/ping/${owner.pingKey}/started/start?create=1`)).status, 200);
    for (let i = 2; i < 12; i += 1) assert.equal((await ping(path(`job-${i}`))).status, 200);
    const full = await ping(path('too-many'));
    assert.deepEqual([full.status, full.body.error.code], [429, 'quota_exceeded']);
    assert.ok(!/\d/.test(full.body.error.message), 'the limit is the business of the account');
    assert.equal(full.headers.get('retry-after'), null, 'curl would wait as long');
    assert.equal((await ping(path('job-5'))).status, 200, 'what is there is pinged');
    assert.equal((await monitorsOf(owner)).length, 12);
    await api('DELETE', `/v1/heartbeats/${made.id}`, undefined, owner.key);
    assert.equal((await ping(`/ping/${owner.pingKey}/new-job`)).status, 404);
  });

  test('a suspended account is pinged as ever, and gets no monitor by a ping', async () => {
    const owner = await withKey();
    await create({ slug: 'job' }, owner);
    await gateway.kernel.sql`update accounts.accounts set suspended_at = now() where id = ${owner.id}`;
    const path = `/ping/${owner.pingKey}`;
    assert.deepEqual(await statusesOf([`${path}/job`, `${path}/new?create=1`]), [200, 404]);
    await gateway.kernel.sql`update accounts.accounts set suspended_at = null where id = ${owner.id}`;
    assert.deepEqual(await statusesOf([`${path}/new?create=1`]), [200]);
  });

  test('a ping key opens nothing else, and no key makes it that may only read', async () => {
    const owner = await withKey();
    for (const path of ['/v1/heartbeats', '/v1/heartbeats/ping-key', '/v1/usage', '/v1/keys']) {
      const answer = await api('GET', path, undefined, owner.pingKey);
      assert.deepEqual([answer.status, answer.body.error.code], [401, 'invalid_api_key'], path);
    }
    const { key } = (await api('POST', '/v1/keys', { scopes: ['heartbeats:read'] }, owner.key)).body;
    assert.equal((await api('POST', '/v1/heartbeats/ping-key', undefined, key)).status, 403);
    assert.equal((await api('DELETE', '/v1/heartbeats/ping-key', undefined, key)).status, 403);
    assert.equal((await api('GET', '/v1/heartbeats/ping-key', undefined, key)).status, 200);
  });

  test('pings by token and by slug that come together are kept in their order', async () => {
    const owner = await withKey();
    const made = await Promise.all(['one', 'two'].map((slug) => create({ slug: `job-${slug}` }, owner)));
    const addresses = made.flatMap(({ body }) => [
      new URL(body.ping_url).pathname,
      `/ping/${owner.pingKey}/${body.slug}`,
    ]);
    const sent = Array.from({ length: 60 }, (_, i) => ping(`${addresses[i % 4]}/log`, gateway, { raw: `${i}` }));
    for (const { status } of await Promise.all(sent)) assert.equal(status, 200);
    for (const { body } of made) assert.equal((await kindsOf(owner, body.id)).length, 30);
  });
});
