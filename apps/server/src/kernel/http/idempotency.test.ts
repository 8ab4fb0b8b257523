import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { shared } from '../../testing.shared.ts';
import { startGateway, createAccount, http, openHost, openTest, type TestGateway } from '../../testing.ts';
import { ApiError } from './errors.ts';
import { once } from './idempotency.ts';

describe('idempotency', () => {
  const { gateway: a, second: b, account, database } = shared(() => openTest({ gateways: 2 }));
  const create = (key: string, body: unknown = { name: 'once' }, at = a, bearer = account.key) =>
    http(at.url, '/v1/keys', { method: 'POST', key: bearer, body, headers: { 'idempotency-key': key } });
  const count = async (): Promise<number> =>
    (await http(a.url, '/v1/keys', { key: account.key })).body.keys.length as number;
  const rowOf = async (key: string) =>
    (await a.kernel.sql`select * from kernel.idempotency where key = ${key}`)[0] as Record<string, any> | undefined;

  test('a repeat answers the stored status and body on every gateway, says so, and does nothing again', async () => {
    const key = randomUUID();
    const first = await create(key);
    const before = await count();
    assert.equal(first.status, 201);
    assert.equal(first.headers.get('idempotency-replayed'), null);
    for (const gateway of [a, b]) {
      const again = await create(key, { name: 'once' }, gateway);
      assert.deepEqual([again.status, again.body], [201, first.body]);
      assert.equal(again.headers.get('idempotency-replayed'), 'true');
      assert.notEqual(again.headers.get('x-svc-trace-id'), first.headers.get('x-svc-trace-id'));
    }
    assert.equal(await count(), before);
  });

  test('of many at once with one key a single one is executed; the others are told it runs, or get its answer', async () => {
    const before = await count();
    const key = randomUUID();
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, i) => create(key, { name: 'race' }, i % 2 === 0 ? a : b)),
    );
    const statuses = new Set(answers.map(({ status }) => status));
    assert.ok(statuses.has(201) && statuses.isSubsetOf(new Set([201, 409])), [...statuses].join());
    for (const { status, body, headers } of answers) {
      if (status !== 409) continue;
      assert.equal(body.error.code, 'idempotency_in_flight');
      assert.match(headers.get('retry-after') ?? '', /^\d+$/);
    }
    assert.equal(new Set(answers.filter(({ status }) => status === 201).map(({ body }) => body.id)).size, 1);
    assert.equal(await count(), before + 1);
  });

  test('422 when the key comes with another body or another path, and the first answer stays', async () => {
    const key = randomUUID();
    const first = await create(key);
    const other = await create(key, { name: 'other' });
    assert.deepEqual([other.status, other.body.error.code], [422, 'idempotency_mismatch']);
    const query = await http(a.url, '/v1/keys?x=1', {
      method: 'POST',
      key: account.key,
      body: { name: 'once' },
      headers: { 'idempotency-key': key },
    });
    assert.equal(query.status, 422);
    assert.deepEqual((await create(key)).body, first.body);
  });

  test('409 while the first request still runs on another gateway, then its answer', async () => {
    const host = await openHost(a, account);
    const key = randomUUID();
    const exec = (gateway: TestGateway) =>
      http(gateway.url, `/v1/hosts/${host.deviceId}/exec`, {
        method: 'POST',
        key: account.key,
        body: { op: 'info' },
        headers: { 'idempotency-key': key },
      });
    const first = exec(a);
    const { data } = await host.next();
    const second = await exec(b);
    assert.deepEqual([second.status, second.body.error.code], [409, 'idempotency_in_flight']);
    await host.client.hosts.result({ params: { req_id: String(data['req_id']) }, body: { ok: true, result: 1 } });
    const answer = await first;
    assert.equal(answer.status, 200);
    assert.deepEqual((await exec(b)).body, answer.body);
    host.leave();
  });

  test('a refusal or a fault is not stored: the same key may be tried again', async () => {
    const key = randomUUID();
    assert.equal((await create(key, { name: '' })).status, 400);
    assert.equal(await rowOf(key), undefined);
    const fresh = { accountId: account.id, route: 'test.run', key, url: '/x', body: {} };
    for (const error of [new ApiError('not_found', 'no'), new ApiError('unavailable', 'no'), new Error('fault')]) {
      await assert.rejects(
        once(a.kernel, fresh, () => Promise.reject(error)),
        error,
      );
      assert.equal(await rowOf(key), undefined);
    }
    const done = await once(a.kernel, fresh, () => Promise.resolve({ status: 200, body: { ok: true } }));
    assert.deepEqual(done, { status: 200, body: { ok: true }, replayed: false });
  });

  test('an answer is forgotten after 24 hours', async () => {
    const key = randomUUID();
    const first = await create(key);
    const left = Date.parse((await rowOf(key))?.['expires_at']) - Date.now();
    assert.ok(Math.abs(left - 24 * 3_600_000) < 60_000);
    await a.kernel.sql`update kernel.idempotency set expires_at = now() - interval '1 second' where key = ${key}`;
    const second = await create(key, { name: 'another body' });
    assert.deepEqual([second.status, second.headers.get('idempotency-replayed')], [201, null]);
    assert.notEqual(second.body.id, first.body.id);
    assert.deepEqual((await create(key, { name: 'another body' })).body, second.body);
  });

  test('keys of two accounts do not meet', async () => {
    const other = await createAccount(a);
    const key = randomUUID();
    const [mine, theirs] = [await create(key), await create(key, { name: 'once' }, a, other.key)];
    assert.deepEqual([mine.status, theirs.status], [201, 201]);
    assert.notEqual(mine.body.id, theirs.body.id);
    assert.equal(theirs.headers.get('idempotency-replayed'), null);
  });

  test('400 for a key over 255 characters or an empty one; 255 are taken', async () => {
    for (const key of ['k'.repeat(256), '']) {
      const answer = await create(key);
      assert.deepEqual([answer.status, answer.body.error.code], [400, 'bad_request']);
      assert.ok(answer.body.error.details.fieldErrors['idempotency-key']);
    }
    assert.equal((await create('k'.repeat(255))).status, 201);
  });

  test('what a gateway left unfinished when it died may be run again, by the same request only', async () => {
    const key = randomUUID();
    const request = { accountId: account.id, route: 'test.dead', key, url: '/x', body: { n: 1 } };
    const never = Promise.withResolvers<never>();
    await using dead = await startGateway(database);
    void once(dead.kernel, request, () => never.promise).catch(() => {});
    const taken = () => once(a.kernel, request, () => Promise.resolve({ status: 200, body: { by: 'a' } }));
    while (!(await rowOf(key)));
    await assert.rejects(taken(), { code: 'idempotency_in_flight' });
    await a.kernel
      .sql`update kernel.gateways set lease_until = now() - interval '1 second' where id = ${dead.kernel.gateways.id}`;
    const other = { ...request, body: { n: 2 } };
    await assert.rejects(
      once(a.kernel, other, () => Promise.resolve({ status: 200, body: {} })),
      { code: 'idempotency_mismatch' },
    );
    assert.deepEqual((await taken()).body, { by: 'a' });
    never.reject(new Error('over'));
  });

  test('a gateway that was taken for dead does not overwrite the answer of the one that took over', async () => {
    const key = randomUUID();
    const request = { accountId: account.id, route: 'test.zombie', key, url: '/x', body: {} };
    const work = Promise.withResolvers<{ status: number; body: unknown }>();
    await using zombie = await startGateway(database);
    const late = once(zombie.kernel, request, () => work.promise);
    while (!(await rowOf(key)));
    await a.kernel
      .sql`update kernel.gateways set lease_until = now() - interval '1 second' where id = ${zombie.kernel.gateways.id}`;
    await once(a.kernel, request, () => Promise.resolve({ status: 200, body: { by: 'a' } }));
    work.resolve({ status: 200, body: { by: 'zombie' } });
    await late;
    const replay = await once(b.kernel, request, () => assert.fail('was executed'));
    assert.deepEqual(replay.body, { by: 'a' });
  });

  test('a stored answer is sealed: no key text lies in the table', async () => {
    const key = randomUUID();
    const { body } = await create(key, { name: 'do not show me' });
    const row = await rowOf(key);
    assert.ok(row?.['response'].length > 0);
    const text = JSON.stringify(row, (_, value) =>
      value?.type === 'Buffer' ? Buffer.from(value.data).toString('latin1') : value,
    );
    assert.ok(!text.includes(body.key) && !text.includes(body.key.slice(4, 20)) && !text.includes('do not show me'));
  });
});
