import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { PassThrough } from 'node:stream';
import { describe, test } from 'node:test';
import { shared } from '../../testing.shared.ts';
import { createAccount, http, openTest } from '../../testing.ts';

describe('addresses of monitors', () => {
  const log = new PassThrough();
  let logged = '';
  const { gateway, second, account } = shared(() => {
    log.setEncoding('utf8').on('data', (chunk: string) => (logged += chunk));
    return openTest({ gateways: 2, settings: { SVC_LOG_LEVEL: 'trace' }, log });
  });
  const api = (method: string, path: string, body?: unknown, key = account.key, headers = {}) =>
    http(gateway.url, path, { method, key, headers, ...(body !== undefined && { body }) });
  const pathOf = (url: string): string => new URL(url).pathname;
  const create = async (body: object = {}, key = account.key) => {
    const made = await api('POST', '/v1/heartbeats', { name: 'job', period_s: 600, ...body }, key);
    assert.equal(made.status, 201, JSON.stringify(made.body));
    return { ...made.body, path: pathOf(made.body.ping_url) };
  };
  const ping = async (path: string, at = gateway) => (await http(at.url, path)).status;
  const actsOf = async (subject: string) =>
    (await api('GET', `/v1/audit?subject=${subject}`)).body.acts.map((act: { action: string }) => act.action);

  test('a rotated address answers 404 at once on every gateway, the new one pings, and all else stays', async () => {
    const { id, path } = await create();
    assert.equal(await ping(`${path}/start`, second), 200);
    await ping(path);
    const before = (await api('GET', `/v1/heartbeats/${id}`)).body;
    const rotated = await api('POST', `/v1/heartbeats/${id}/rotate`);
    assert.deepEqual([rotated.status, Object.keys(rotated.body)], [200, ['ping_url']]);
    for (const at of [gateway, second]) {
      for (const end of ['', '/start', '/fail', '/0', '/log']) assert.equal(await ping(path + end, at), 404);
      assert.equal(await ping(pathOf(rotated.body.ping_url), at), 200);
    }
    const after = (await api('GET', `/v1/heartbeats/${id}`)).body;
    assert.deepEqual(
      { ...after, updated_at: '', last_ping_at: '', expected_at: '' },
      { ...before, updated_at: '', last_ping_at: '', expected_at: '' },
      'the address is in no record',
    );
    assert.equal((await api('GET', `/v1/heartbeats/${id}/pings`)).body.pings.at(-1).kind, 'start');
    assert.deepEqual(await actsOf(id), ['heartbeats.rotate']);
  });

  test('of two rotations at once one address is left; a repeat with its key answers the same and rotates nothing', async () => {
    const { id, path } = await create();
    const both = await Promise.all([1, 2, 3].map(() => api('POST', `/v1/heartbeats/${id}/rotate`)));
    const statuses = await Promise.all(both.map(({ body }) => ping(pathOf(body.ping_url))));
    assert.deepEqual([statuses.toSorted((a, b) => a - b), await ping(path)], [[200, 404, 404], 404]);
    const key = { 'idempotency-key': randomUUID() };
    const first = await api('POST', `/v1/heartbeats/${id}/rotate`, undefined, account.key, key);
    const again = await api('POST', `/v1/heartbeats/${id}/rotate`, undefined, account.key, key);
    assert.deepEqual([again.body, again.headers.get('idempotency-replayed')], [first.body, 'true']);
    assert.equal(await ping(pathOf(first.body.ping_url)), 200);
    assert.equal((await actsOf(id)).length, 4);
  });

  test('nobody rotates what is not theirs, or with a key that may only read', async () => {
    const { id, path } = await create();
    const stranger = await createAccount(gateway);
    for (const target of [id, randomUUID()]) {
      assert.equal((await api('POST', `/v1/heartbeats/${target}/rotate`, undefined, stranger.key)).status, 404);
    }
    const { key } = (await api('POST', '/v1/keys', { scopes: ['heartbeats:read'] })).body;
    assert.equal((await api('POST', `/v1/heartbeats/${id}/rotate`, undefined, key)).status, 403);
    assert.equal(await ping(path), 200);
    assert.deepEqual(await actsOf(id), []);
  });

  test('no address is in a log line, the audit log or the database', async () => {
    const { id } = await create();
    const { ping_url } = (await api('POST', `/v1/heartbeats/${id}/rotate`)).body;
    await ping(pathOf(ping_url));
    const token = ping_url.slice(ping_url.lastIndexOf('/') + 1);
    assert.ok(!JSON.stringify((await api('GET', '/v1/audit')).body).includes(token));
    const rows = await gateway.kernel.sql`select m::text as text from heartbeats.monitors m`;
    assert.ok(rows.every((row) => !row['text'].includes(token)));
    assert.ok(!logged.includes(token));
  });
});
