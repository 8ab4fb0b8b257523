import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { testClock } from '../../kernel/base/clock.ts';
import { startNats, withoutNats } from '../../kernel/testing.ts';
import { shared } from '../../testing.shared.ts';
import { clientOf, http, openHost, openTest, startGateway, type TestGateway, until } from '../../testing.ts';

describe('hosts relay over two gateways', () => {
  const { gateway: a, second: b, account, database } = shared(() => openTest({ gateways: 2 }));
  const caller = (gateway: TestGateway) => clientOf(gateway, account.key);

  test('a host is listed with its truncated labels while its stream is open, on every gateway', async () => {
    const deviceId = randomUUID();
    const client = clientOf(a, account.key, deviceId);
    const abort = new AbortController();
    const roots = [' /a ', '', ...Array.from({ length: 40 }, (_, i) => `/r${i}`)].join(',');
    const stream = client.hosts.stream(
      { query: { os: 'o'.repeat(60), hostname: 'h'.repeat(200), roots } },
      { signal: abort.signal },
    );
    const ready = await stream.next();
    assert.equal(ready.value?.event, 'ready');
    const { hosts } = await caller(b).hosts.list();
    const host = hosts.find((entry) => entry.device_id === deviceId);
    assert.equal(host?.os, 'o'.repeat(40));
    assert.equal(host?.hostname, 'h'.repeat(120));
    assert.equal(host?.roots.length, 32);
    assert.equal(host?.roots[0], '/a');
    assert.ok(Number.isInteger(host?.since) && Number.isInteger(host?.last_seen));
    abort.abort();
    await stream.return(undefined as never).catch(() => {});
    await until(async () => !(await caller(b).hosts.list()).hosts.some((entry) => entry.device_id === deviceId));
  });

  test('who follows the account is told of a host that comes, comes back, and goes, also when its gateway was killed', async () => {
    const { sql } = a.kernel;
    const { cursor } = (await http(b.url, '/v1/events', { key: account.key })).body;
    const deviceId = randomUUID();
    const told = async (): Promise<string[]> => {
      const { events } = (await http(b.url, `/v1/events?topics=hosts&limit=500&after=${cursor}`, { key: account.key }))
        .body;
      const own = events.filter(({ id }: { id: string }) => id === deviceId);
      return own.map(({ op, record }: { op: string; record?: { hostname: string } }) => `${op} ${record?.hostname}`);
    };
    const first = await openHost(a, account, deviceId);
    const second = await openHost(b, account, deviceId, { os: 'linux', hostname: 'renamed' });
    await first.ended;
    second.leave();
    let all: string[] = [];
    await until(async () => (all = await told()).length === 3);
    assert.deepEqual(all, ['created test', 'updated renamed', 'deleted undefined']);
    await sql`
      insert into hosts.presence (account_id, device_id, gateway_id, os, hostname, roots, expires_at)
      values (${account.id}, ${deviceId}, ${randomUUID()}, '', '', '{}', now() - interval '16 seconds')`;
    await until(async () => (await told()).length === 4);
  });

  test('a stream without x-svc-device is a 400', async () => {
    const answer = await http(a.url, '/v1/hosts/stream', { key: account.key });
    assert.equal(answer.status, 400);
    assert.ok(answer.body.error.details.fieldErrors['x-svc-device']);
  });

  for (const [name, execAt, streamAt, resultAt] of [
    ['all on one gateway', 'a', 'a', 'a'],
    ['the stream elsewhere', 'a', 'b', 'b'],
    ['the result posted at the caller', 'a', 'b', 'a'],
    ['the result posted away from both', 'a', 'a', 'b'],
  ] as const) {
    test(`a result reaches its caller: ${name}`, async () => {
      const at = { a, b };
      const host = await openHost(at[streamAt], account);
      const asking = Date.now();
      const asked = caller(at[execAt]).hosts.exec({
        params: { device_id: host.deviceId },
        body: {
          op: 'shell',
          args: { command: 'true' },
          timeout_ms: 60_000,
          extra: { deep: [1] },
          req_id: 'mine',
          op2: 1,
        },
      });
      const { event, data } = await host.next();
      assert.equal(event, 'exec');
      assert.equal(data['op'], 'shell');
      assert.deepEqual(data['args'], { command: 'true' });
      assert.deepEqual(data['extra'], { deep: [1] });
      assert.notEqual(data['req_id'], 'mine');
      assert.equal(data['timeout_ms'], 60_000);
      const begun = Number(data['deadline']) - 60_000;
      assert.ok(begun >= asking && begun <= Date.now(), `${begun}`);
      const poster = clientOf(at[resultAt], account.key, host.deviceId);
      const params = { req_id: String(data['req_id']) };
      assert.deepEqual(await poster.hosts.result({ params, body: { ok: true, result: { n: 1 } } }), { ok: true });
      assert.deepEqual(await asked, { req_id: data['req_id'], ok: true, result: { n: 1 } });
      assert.deepEqual(await poster.hosts.result({ params, body: { ok: false, error: 'late' } }), { ok: true });
      host.leave();
    });
  }

  test('a result whose message to the caller was lost reaches it all the same', async () => {
    const clock = testClock();
    await using own = await openTest({ gateways: 2, clock });
    const host = await openHost(own.second, own.account);
    const body = { op: 'echo', args: {} };
    const called = clientOf(own.gateway, own.account.key).hosts.exec({ params: { device_id: host.deviceId }, body });
    const reqId = String((await host.next()).data['req_id']);
    // As a gateway does that is killed before it says so.
    const result = JSON.stringify({ ok: true, result: 'kept' });
    await own.second.kernel.sql`update hosts.calls set result = ${result} where req_id = ${reqId}`;
    clock.advance(2_000);
    assert.equal((await called).result, 'kept');
    host.leave();
  });

  test('a failure of the host comes back as ok false with its error and a null result', async () => {
    const host = await openHost(a, account);
    const asked = caller(a).hosts.exec({ params: { device_id: host.deviceId }, body: { op: 'nope' } });
    const { data } = await host.next();
    await host.client.hosts.result({
      params: { req_id: String(data['req_id']) },
      body: { ok: false, error: 'unknown_op' },
    });
    assert.deepEqual(await asked, { req_id: data['req_id'], ok: false, result: null, error: 'unknown_op' });
    host.leave();
  });

  test('a device that was never seen is a 404, one that is offline a 409 at once', async () => {
    const known = randomUUID();
    await clientOf(a, account.key, known).devices.list();
    const body = { op: 'info' };
    await assert.rejects(caller(a).hosts.exec({ params: { device_id: randomUUID() }, body }), {
      status: 404,
      code: 'not_found',
    });
    await assert.rejects(caller(a).hosts.exec({ params: { device_id: known }, body }), {
      status: 409,
      code: 'host_offline',
    });
  });

  for (const streamAt of ['a', 'b'] as const) {
    const where = streamAt === 'a' ? 'here' : 'on another gateway';

    test(`a host that does not answer in time is a 504 with the req_id, its stream ${where}`, async () => {
      const host = await openHost({ a, b }[streamAt], account);
      const asked = caller(a).hosts.exec({
        params: { device_id: host.deviceId },
        body: { op: 'info', timeout_ms: 1_000 },
      });
      const { data } = await host.next();
      await assert.rejects(asked, { status: 504, code: 'host_timeout', details: { req_id: data['req_id'] } });
      const params = { req_id: String(data['req_id']) };
      assert.deepEqual(await host.client.hosts.result({ params, body: { ok: true } }), { ok: true });
      host.leave();
    });

    test(`a stream lost in the middle of a call is a 502, its stream ${where}`, async () => {
      const host = await openHost({ a, b }[streamAt], account);
      const asked = caller(a).hosts.exec({ params: { device_id: host.deviceId }, body: { op: 'info' } });
      await host.next();
      host.leave();
      await assert.rejects(asked, { status: 502, code: 'host_disconnected' });
    });

    test(`the host is told when its caller goes away, its stream ${where}`, async () => {
      const host = await openHost({ a, b }[streamAt], account);
      const abort = new AbortController();
      const asked = caller(a).hosts.exec(
        { params: { device_id: host.deviceId }, body: { op: 'info' } },
        { signal: abort.signal },
      );
      const { data } = await host.next();
      abort.abort();
      await assert.rejects(asked);
      assert.deepEqual(await host.next(), { event: 'exec_cancel', data: { req_id: data['req_id'] } });
      host.leave();
    });

    test(`a host runs 16 operations at once and refuses the 17th with 429, its stream ${where}`, async () => {
      const host = await openHost({ a, b }[streamAt], account);
      const ask = () => caller(a).hosts.exec({ params: { device_id: host.deviceId }, body: { op: 'info' } });
      const asked = Array.from({ length: 16 }, ask);
      const frames = [];
      for (let i = 0; i < 16; i++) frames.push(await host.next());
      await assert.rejects(ask(), { status: 429, code: 'rate_limit_exceeded', retryAfter: 1 });
      for (const { data } of frames) {
        await host.client.hosts.result({ params: { req_id: String(data['req_id']) }, body: { ok: true } });
      }
      await Promise.all(asked);
      const again = ask();
      const { data } = await host.next();
      await host.client.hosts.result({ params: { req_id: String(data['req_id']) }, body: { ok: true } });
      await again;
      host.leave();
    });

    test(`a newer stream of a device replaces the older one, which was ${where}`, async () => {
      const older = await openHost({ a, b }[streamAt], account);
      const newer = await openHost(a, account, older.deviceId);
      await older.ended;
      const { hosts } = await caller(b).hosts.list();
      assert.equal(hosts.filter((entry) => entry.device_id === newer.deviceId).length, 1);
      const asked = caller(b).hosts.exec({ params: { device_id: newer.deviceId }, body: { op: 'info' } });
      const { data } = await newer.next();
      await newer.client.hosts.result({
        params: { req_id: String(data['req_id']) },
        body: { ok: true, result: 'newer' },
      });
      assert.equal((await asked).result, 'newer');
      newer.leave();
    });
  }

  test('only the device that an operation was sent to may post its result', async () => {
    const host = await openHost(a, account);
    const asked = caller(a).hosts.exec({ params: { device_id: host.deviceId }, body: { op: 'info' } });
    const { data } = await host.next();
    const params = { req_id: String(data['req_id']) };
    for (const gateway of [a, b]) {
      const other = clientOf(gateway, account.key, randomUUID());
      await assert.rejects(other.hosts.result({ params, body: { ok: true, result: 'forged' } }), { status: 404 });
    }
    const missing = await http(a.url, `/v1/hosts/exec/${params.req_id}/result`, {
      key: account.key,
      body: { ok: true },
    });
    assert.equal(missing.status, 400);
    await host.client.hosts.result({ params, body: { ok: true, result: 'real' } });
    assert.equal((await asked).result, 'real');
    host.leave();
  });

  test('a gateway that is alone takes a result of the device alone that the operation was sent to', async () => {
    await using own = await openTest();
    const host = await openHost(own.gateway, own.account);
    const called = clientOf(own.gateway, own.account.key);
    const asked = called.hosts.exec({ params: { device_id: host.deviceId }, body: { op: 'info' } });
    const params = { req_id: String((await host.next()).data['req_id']) };
    const other = clientOf(own.gateway, own.account.key, randomUUID());
    await assert.rejects(other.hosts.result({ params, body: { ok: true, result: 'forged' } }), { status: 404 });
    await host.client.hosts.result({ params, body: { ok: true, result: 'real' } });
    assert.equal((await asked).result, 'real');
    host.leave();
  });

  test('results reported at once are taken each by itself: what is of another device, or of nobody, is not', async () => {
    const [host, other] = [await openHost(a, account), await openHost(b, account)];
    const holders = { first: host, second: host, foreign: other };
    const asked = Object.entries(holders).map(([op, { deviceId }]) =>
      caller(a).hosts.exec({ params: { device_id: deviceId }, body: { op, timeout_ms: 60_000 } }),
    );
    const ids: Record<string, string> = {};
    for (const each of Object.values(holders)) {
      const { data } = await each.next();
      ids[String(data['op'])] = String(data['req_id']);
    }
    const { first = '', second = '', foreign = '' } = ids;
    const results = [
      { req_id: second, ok: true, result: 0 },
      { req_id: foreign, ok: true, result: 'forged' },
      { req_id: randomUUID(), ok: true },
      { req_id: first, ok: false, error: 'no' },
      // Of one operation the first counts.
      { req_id: first, ok: true, result: 'again' },
    ];
    const { taken } = await host.client.hosts.results({ body: { results } });
    assert.deepEqual(taken, [true, false, false, true, true]);
    const body = { ok: true, result: 'own' };
    await other.client.hosts.result({ params: { req_id: foreign }, body });
    const answers = await Promise.all(asked);
    assert.deepEqual(
      answers.map(({ ok, result, error }) => [ok, result, error]),
      [
        [false, null, 'no'],
        [true, 0, undefined],
        [true, 'own', undefined],
      ],
    );
    for (const count of [0, 65]) {
      const many = Array.from({ length: count }, () => ({ req_id: randomUUID(), ok: true }));
      const headers = { 'x-svc-device': host.deviceId };
      const sent = await http(a.url, '/v1/hosts/results', { key: account.key, headers, body: { results: many } });
      assert.equal(sent.status, 400, `${count}`);
    }
    host.leave();
    other.leave();
  });

  test('timeout_ms outside 1,000..300,000 is a 400', async () => {
    for (const timeout_ms of [999, 300_001, 1.5, '5000']) {
      const answer = await http(a.url, `/v1/hosts/${randomUUID()}/exec`, {
        key: account.key,
        body: { op: 'info', timeout_ms },
      });
      assert.equal(answer.status, 400);
      assert.ok(answer.body.error.details.fieldErrors['timeout_ms']);
    }
  });

  test('text that Postgres cannot hold as JSON travels unharmed between gateways', async () => {
    const host = await openHost(b, account);
    const args = { nul: 'a\u0000b', lone: '\ud800', emoji: '🦊' };
    const asked = caller(a).hosts.exec({ params: { device_id: host.deviceId }, body: { op: 'echo', args } });
    const { data } = await host.next();
    assert.deepEqual(data['args'], args);
    await host.client.hosts.result({ params: { req_id: String(data['req_id']) }, body: { ok: true, result: args } });
    assert.deepEqual((await asked).result, args);
    host.leave();
  });

  test('a body or a result over 12 MiB is a 413', async () => {
    const host = await openHost(a, account);
    const big = 'x'.repeat(12 * 1024 * 1024);
    const exec = await http(a.url, `/v1/hosts/${host.deviceId}/exec`, {
      key: account.key,
      body: { op: 'x', args: { big } },
    });
    assert.deepEqual([exec.status, exec.body.error.code], [413, 'payload_too_large']);
    const result = await http(a.url, `/v1/hosts/exec/${randomUUID()}/result`, {
      key: account.key,
      headers: { 'x-svc-device': host.deviceId },
      body: { ok: true, result: big },
    });
    assert.equal(result.status, 413);
    host.leave();
  });

  test('a result of 11 MiB crosses gateways', async () => {
    const host = await openHost(b, account);
    const asked = caller(a).hosts.exec({ params: { device_id: host.deviceId }, body: { op: 'read' } });
    const { data } = await host.next();
    const big = 'ș'.repeat(5.5 * 1024 * 1024);
    await host.client.hosts.result({ params: { req_id: String(data['req_id']) }, body: { ok: true, result: big } });
    assert.equal((await asked).result, big);
    host.leave();
  });

  test('a repeat with the same Idempotency-Key does not run the operation twice', async () => {
    const host = await openHost(a, account);
    const request = { params: { device_id: host.deviceId }, body: { op: 'info' } };
    const idempotencyKey = randomUUID();
    const asked = caller(a).hosts.exec(request, { idempotencyKey });
    const { data } = await host.next();
    await host.client.hosts.result({ params: { req_id: String(data['req_id']) }, body: { ok: true, result: 7 } });
    const first = await asked;
    assert.deepEqual(await caller(b).hosts.exec(request, { idempotencyKey }), first);
    host.leave();
  });

  test('a gateway that shuts down lets the calls in flight finish, then ends its streams', async () => {
    await using third = await startGateway(database);
    const host = await openHost(third, account);
    const asked = caller(third).hosts.exec({ params: { device_id: host.deviceId }, body: { op: 'info' } });
    const { data } = await host.next();
    const closed = third.close();
    await until(async () => (await http(third.url, '/v1/keys', { key: account.key })).status === 503);
    await host.client.hosts.result({ params: { req_id: String(data['req_id']) }, body: { ok: true, result: 'done' } });
    assert.equal((await asked).result, 'done');
    await host.ended;
    await closed;
    assert.ok(!(await caller(a).hosts.list()).hosts.some((entry) => entry.device_id === host.deviceId));
  });

  test('a host whose gateway was killed is offline at once when that gateway has no lease any more', async () => {
    const host = await openHost(b, account);
    await a.kernel.sql`update hosts.presence set gateway_id = ${randomUUID()} where device_id = ${host.deviceId}`;
    const asked = caller(a).hosts.exec({ params: { device_id: host.deviceId }, body: { op: 'info' } });
    await assert.rejects(asked, { status: 409, code: 'host_offline' });
    host.leave();
  });

  test('presence of a gateway that was killed ends with its lease, 45 s after the last heartbeat', async () => {
    const host = await openHost(b, account);
    await a.kernel
      .sql`update hosts.presence set expires_at = now() - interval '1 second' where device_id = ${host.deviceId}`;
    assert.ok(!(await caller(a).hosts.list()).hosts.some((entry) => entry.device_id === host.deviceId));
    await assert.rejects(caller(a).hosts.exec({ params: { device_id: host.deviceId }, body: { op: 'info' } }), {
      status: 409,
    });
    host.leave();
  });
});

describe('hosts relay over NATS', { skip: withoutNats }, () => {
  test('calls, results, cancellations and replaced streams cross gateways as over LISTEN/NOTIFY', async () => {
    await using nats = await startNats();
    await using open = await openTest({ gateways: 2, settings: { SVC_NATS_URL: nats.url } });
    const { gateway: a, second: b, account } = open;
    const host = await openHost(b, account);
    const params = { device_id: host.deviceId };
    for (const poster of [clientOf(b, account.key, host.deviceId), clientOf(a, account.key, host.deviceId)]) {
      const asked = clientOf(a, account.key).hosts.exec({ params, body: { op: 'info' } });
      const { data } = await host.next();
      await poster.hosts.result({ params: { req_id: String(data['req_id']) }, body: { ok: true, result: 1 } });
      assert.equal((await asked).result, 1);
    }
    const abort = new AbortController();
    const cancelled = clientOf(a, account.key).hosts.exec({ params, body: { op: 'info' } }, { signal: abort.signal });
    await host.next();
    abort.abort();
    await assert.rejects(cancelled);
    assert.equal((await host.next()).event, 'exec_cancel');
    const newer = await openHost(a, account, host.deviceId);
    await host.ended;
    newer.leave();
  });
});
