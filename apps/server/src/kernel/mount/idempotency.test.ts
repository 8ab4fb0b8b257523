import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { shared } from '../../testing.shared.ts';
import { startGateway, createAccount, http, openHost, openTest, type TestGateway, until } from '../../testing.ts';
import { ApiError } from '../base/errors.ts';
import { inTransaction, writeWithCommit } from '../db/db.ts';
import { proxyDatabase } from '../testing.ts';
import { begunOnce, type IdempotentRequest, once, sealedAnswers } from './idempotency.ts';

describe('idempotency', () => {
  const { gateway: a, second: b, account, database } = shared(() => openTest({ gateways: 2 }));
  const agent = { kind: 'agent', spec: { prompt: 'x' }, trigger: { type: 'event', trigger_id: 'go' } };
  const create = (
    key: string,
    fields: object = { name: 'once' },
    at = a,
    bearer = account.key,
    path = '/v1/schedules',
  ) =>
    http(at.url, path, {
      method: 'POST',
      key: bearer,
      body: path.startsWith('/v1/schedules') ? { ...agent, ...fields } : fields,
      headers: { 'idempotency-key': key },
    });
  const count = async (): Promise<number> =>
    (await http(a.url, '/v1/schedules', { key: account.key })).body.schedules.length as number;
  const asked = (route: string, key: string, body: object, keyId = account.keyId): IdempotentRequest => ({
    accountId: account.id,
    keyId,
    route,
    key,
    url: '/x',
    body,
    bodyHash: createHash('sha256').update(JSON.stringify(body)).digest(),
  });
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
    const query = await create(key, { name: 'once' }, a, account.key, '/v1/schedules?x=1');
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
    const fresh = asked('test.run', key, {});
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
    const request = asked('test.dead', key, { n: 1 });
    const never = Promise.withResolvers<never>();
    never.promise.catch(() => {});
    await using dead = await startGateway(database);
    void once(dead.kernel, request, () => never.promise).catch(() => {});
    const taken = () => once(a.kernel, request, () => Promise.resolve({ status: 200, body: { by: 'a' } }));
    while (!(await rowOf(key)));
    await assert.rejects(taken(), { code: 'idempotency_in_flight' });
    await a.kernel
      .sql`update kernel.gateways set lease_until = now() - interval '1 second' where id = ${dead.kernel.gateways.id}`;
    const other = asked('test.dead', key, { n: 2 });
    await assert.rejects(
      once(a.kernel, other, () => Promise.resolve({ status: 200, body: {} })),
      { code: 'idempotency_mismatch' },
    );
    assert.deepEqual((await taken()).body, { by: 'a' });
    never.reject(new Error('over'));
  });

  test('what a gateway had committed when it died is not done again: the repeat is told so', async () => {
    const key = randomUUID();
    const request = asked('test.begun', key, {});
    await using dead = await startGateway(database);
    const never = Promise.withResolvers<never>();
    never.promise.catch(() => {});
    const committed = Promise.withResolvers<void>();
    void once(dead.kernel, request, async () => {
      await inTransaction(dead.kernel.sql, (tx) => writeWithCommit(tx, begunOnce(dead.kernel, request), []));
      committed.resolve();
      return never.promise;
    }).catch(() => {});
    await committed.promise;
    const again = () => once(a.kernel, request, () => assert.fail('was done again'));
    await assert.rejects(again(), { code: 'idempotency_in_flight' });
    await a.kernel
      .sql`update kernel.gateways set lease_until = now() - interval '1 second' where id = ${dead.kernel.gateways.id}`;
    await assert.rejects(again(), { code: 'answer_not_kept' });
    never.reject(new Error('over'));
  });

  test('a connection that broke frees the key when nothing was committed, and tells of a commit whose answer was lost', async () => {
    const broken = Object.assign(new Error('broken'), { code: 'CONNECTION_CLOSED' });
    const [nothing, something] = [asked('test.broken', randomUUID(), {}), asked('test.broken', randomUUID(), {})];
    await assert.rejects(once(a.kernel, nothing, () => Promise.reject(broken)));
    assert.deepEqual((await once(b.kernel, nothing, () => Promise.resolve({ status: 200, body: 1 }))).body, 1);
    const commit = async () => {
      await inTransaction(a.kernel.sql, (tx) => writeWithCommit(tx, begunOnce(a.kernel, something), []));
      throw broken;
    };
    await assert.rejects(once(a.kernel, something, commit));
    await assert.rejects(
      once(b.kernel, something, () => assert.fail('was done again')),
      { code: 'answer_not_kept' },
    );
  });

  test('a database that is away when a request fails leaves no key that is in flight for ever', async () => {
    const { database: proxied, proxy } = await proxyDatabase(database);
    await using gateway = await startGateway(proxied);
    const request = asked('test.away', randomUUID(), {});
    const failed = once(gateway.kernel, request, async () => {
      await proxy.cut();
      throw Object.assign(new Error('broken'), { code: 'CONNECTION_CLOSED' });
    });
    await assert.rejects(failed, { message: 'broken' });
    await assert.rejects(
      once(a.kernel, request, () => assert.fail('still runs')),
      { code: 'idempotency_in_flight' },
    );
    await proxy.restore();
    await until(() =>
      once(a.kernel, request, () => Promise.resolve({ status: 200, body: 1 })).then(
        () => true,
        () => false,
      ),
    );
    await proxy.close();
  });

  test('a connection that broke while a key was claimed leaves no key that is in flight for ever', async () => {
    const { database: proxied, proxy } = await proxyDatabase(database);
    await using gateway = await startGateway(proxied);
    const request = asked('test.claim', randomUUID(), {});
    const again = () => once(a.kernel, request, () => Promise.resolve({ status: 200, body: 1 }));
    const held = Promise.withResolvers<void>();
    const holds = Promise.withResolvers<void>();
    // The claim waits for this row, which is not there in the end.
    const holder = a.kernel.sql.begin(async (tx) => {
      await tx`insert into kernel.idempotency (account_id, route, key, request_hash, gateway_id)
        values (${request.accountId}, ${request.route}, ${request.key}, '', ${a.kernel.gateways.id})`;
      holds.resolve();
      await held.promise;
      throw new Error('never there');
    });
    await holds.promise;
    const claimed = once(gateway.kernel, request, () => assert.fail('was done without its key'));
    await until(
      async () =>
        (
          await a.kernel.sql`
      select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
        ).length > 0,
    );
    await Promise.all([proxy.cut(), assert.rejects(claimed, { code: 'CONNECTION_CLOSED' })]);
    held.resolve();
    await assert.rejects(holder, { message: 'never there' });
    await until(async () => (await rowOf(request.key)) !== undefined);
    await assert.rejects(again(), { code: 'idempotency_in_flight' });
    await proxy.restore();
    await until(() =>
      again().then(
        () => true,
        () => false,
      ),
    );
    await proxy.close();
  });

  test('a transaction of a gateway whose request was taken over is not committed', async () => {
    const request = asked('test.over', randomUUID(), {});
    await using zombie = await startGateway(database);
    const began = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const late = once(zombie.kernel, request, async () => {
      await inTransaction(zombie.kernel.sql, async (tx) => {
        began.resolve();
        await goOn.promise;
        await tx`insert into kernel.facts (name, value) values (${request.key}, 'twice')`;
        await writeWithCommit(tx, begunOnce(zombie.kernel, request), []);
      });
      return { status: 200, body: {} };
    });
    await began.promise;
    await a.kernel
      .sql`update kernel.gateways set lease_until = now() - interval '1 second' where id = ${zombie.kernel.gateways.id}`;
    await once(a.kernel, request, () => Promise.resolve({ status: 200, body: {} }));
    goOn.resolve();
    await assert.rejects(late, { code: '40001' });
    assert.equal((await a.kernel.sql`select 1 from kernel.facts where name = ${request.key}`).length, 0);
  });

  test('a gateway that was taken for dead does not overwrite the answer of the one that took over', async () => {
    const key = randomUUID();
    const request = asked('test.zombie', key, {});
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
    assert.ok(!text.includes(body.id) && !text.includes('do not show me'));
  });

  test('an answer with a secret is repeated to the same caller, and what is kept of it opens with no master key alone', async () => {
    for (const [path, fields] of [
      ['/v1/keys', { name: 'k' }],
      ['/v1/heartbeats', { name: 'h', period_s: 60 }],
    ] as const) {
      const key = randomUUID();
      const first = await create(key, fields, a, account.key, path);
      assert.equal(first.status, 201);
      // The caller's own key says when it was used, which is the one thing that changes.
      const listed = async () => {
        const { body } = await http(a.url, path, { key: account.key });
        return { ...body, keys: body.keys?.map((key: object) => ({ ...key, last_used_at: undefined })) };
      };
      const before = await listed();
      const again = await create(key, fields, b, account.key, path);
      assert.deepEqual([again.status, again.body], [201, first.body]);
      assert.equal(again.headers.get('idempotency-replayed'), 'true');
      assert.deepEqual(await listed(), before);
      const opened = a.kernel.keyring.open(sealedAnswers, (await rowOf(key))?.['response']).toString('latin1');
      assert.ok(!opened.includes(first.body.id) && !opened.includes(first.body.key ?? first.body.ping_url));
    }
  });

  test('what one API key was answered is answered to no other key of the account', async () => {
    const { body: weaker } = await http(a.url, '/v1/keys', {
      key: account.key,
      body: { name: 'weaker', scopes: ['schedules'] },
    });
    const key = randomUUID();
    assert.equal((await create(key)).status, 201);
    const answer = await create(key, { name: 'once' }, a, weaker.key);
    assert.deepEqual([answer.status, answer.body.error.code], [422, 'idempotency_mismatch']);
  });

  test('an answer over 1 MiB is not kept, and none past the 64 MiB of a day; it is not done again either', async () => {
    const large = asked('test.large', randomUUID(), {});
    const work = (bytes: number) => () => Promise.resolve({ status: 200, body: { text: 'x'.repeat(bytes) } });
    const repeat = (request: IdempotentRequest) => once(a.kernel, request, () => assert.fail('was executed'));
    assert.equal((await once(a.kernel, large, work(1024 * 1024))).status, 200);
    await assert.rejects(repeat(large), { code: 'answer_not_kept', message: /over 1 MiB/ });
    const { id: accountId } = await createAccount(a);
    const small = { ...asked('test.small', randomUUID(), {}), accountId };
    await a.kernel.sql`
      insert into kernel.idempotency_use (account_id, day, bytes)
      values (${accountId}, (now() at time zone 'UTC')::date, ${64 * 1024 * 1024})`;
    assert.equal((await once(a.kernel, small, work(10))).status, 200);
    await assert.rejects(repeat(small), { code: 'answer_not_kept', message: /64 MiB/ });
    await a.kernel.sql`update kernel.idempotency_use set answers = 200_000 where account_id = ${accountId}`;
    const refused = { ...small, key: randomUUID() };
    await assert.rejects(repeat(refused), { code: 'quota_exceeded' });
    assert.equal(await rowOf(refused.key), undefined);
  });

  test('an answer that the version before stored is still replayed', async () => {
    const key = randomUUID();
    const first = await create(key);
    const body = JSON.stringify({ ...agent, name: 'once' });
    const hash = createHash('sha256').update('/v1/schedules').update('\0').update(body).digest();
    await a.kernel.sql`update kernel.idempotency set key_id = null, request_hash = ${hash} where key = ${key}`;
    assert.deepEqual((await create(key)).body, first.body);
    assert.equal((await create(key, { name: 'other' })).status, 422);
  });
});
