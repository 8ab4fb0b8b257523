import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import { PassThrough } from 'node:stream';
import fc from 'fast-check';
import { buildApp } from '../../app.ts';
import { testClock } from '../../kernel/base/clock.ts';
import type { Db } from '../../kernel/db/db.ts';
import { createMetrics } from '../../kernel/base/metrics.ts';
import { shared } from '../../testing.shared.ts';
import { createAccount, http, openTest, until } from '../../testing.ts';
import { PingBatches } from './heartbeats.batch.ts';
import { DeadlineTicker } from './heartbeats.ticker.ts';
import { hashToken } from './heartbeats.token.ts';

const run = promisify(execFile);
const minute = 60_000;

describe('heartbeats', () => {
  const clock = testClock(Date.UTC(2026, 0, 1));
  const log = new PassThrough();
  let logged = '';
  const {
    gateway,
    second: other,
    account,
  } = shared(() => {
    log.setEncoding('utf8').on('data', (chunk: string) => (logged += chunk));
    const settings = { SVC_LOG_LEVEL: 'trace', SVC_BASE_URL: 'https://svc.test' };
    return openTest({ gateways: 2, clock, settings, log });
  });

  const api = (method: string, path: string, body?: unknown, key = account.key) =>
    http(gateway.url, path, { method, key, ...(body !== undefined && { body }) });
  /** A monitor with the path of its pings. */
  const create = async (body: object = {}, from = account) => {
    const { body: made } = await api(
      'POST',
      '/v1/heartbeats',
      { name: 'job', period_s: 600, grace_s: 300, ...body },
      from.key,
    );
    return { ...made, path: new URL(made.ping_url).pathname };
  };
  const ping = (path: string, init: Parameters<typeof http>[2] = {}, at = gateway) => http(at.url, path, init);
  const find = async (id: string, key = account.key) =>
    (await api('GET', '/v1/heartbeats', undefined, key)).body.heartbeats.find((one: { id: string }) => one.id === id);
  const statusOf = async (id: string) => (await find(id))?.status;
  const alerts = async (id: string): Promise<string[]> => {
    const rows = await gateway.kernel.sql`
      select type from notifications.notifications where data->>'heartbeat_id' = ${id} order by seq`;
    return rows.map((row) => row['type']);
  };
  const resolutions = async (id: string) => {
    const { notifications } = (await api('GET', '/v1/notifications?limit=200')).body;
    return notifications
      .filter(({ data }: { data?: { heartbeat_id?: string } }) => data?.heartbeat_id === id)
      .map(({ resolution }: { resolution?: string }) => resolution)
      .toReversed();
  };
  const becomes = (id: string, status: string) => until(async () => (await statusOf(id)) === status);

  test('a monitor is made with defaults; its address is shown once and stored nowhere', async () => {
    const made = await api('POST', '/v1/heartbeats', { name: 'backup', period_s: 86_400, tz: 'Europe/Bucharest' });
    assert.equal(made.status, 201);
    const { id, ping_url: url, created_at: at, ...rest } = made.body;
    assert.deepEqual(rest, {
      name: 'backup',
      period_s: 86_400,
      cron: null,
      grace_s: 3_600,
      tz: 'Europe/Bucharest',
      status: 'new',
      tags: [],
      expected_at: '2026-01-02T00:00:00.000Z',
      updated_at: at,
    });
    assert.match(url, /^https:\/\/svc\.test\/ping\/[A-Za-z0-9_-]{32}$/);
    assert.equal((await find(id)).ping_url, undefined);
    const token = url.slice(-32);
    const rows = await gateway.kernel.sql`select m::text as text from heartbeats.monitors m where id = ${id}`;
    assert.ok(!rows[0]?.['text'].includes(token) && !rows[0]?.['text'].includes(Buffer.from(token).toString('hex')));
    assert.equal(
      (await create({ period_s: 60, grace_s: undefined })).grace_s,
      60,
      'no grace beyond the period by default',
    );
    for (const body of [
      { name: 'x' },
      { name: '', period_s: 60 },
      { name: 'x'.repeat(121), period_s: 60 },
      { name: 'x', period_s: 59 },
      { name: 'x', period_s: 2_592_001 },
      { name: 'x', period_s: 60.5 },
      { name: 'x', period_s: 60, grace_s: 59 },
      { name: 'x', period_s: 60, grace_s: 604_801 },
      { name: 'x', period_s: 60, tz: 'Mars/Base' },
    ])
      assert.equal((await api('POST', '/v1/heartbeats', body)).status, 400, JSON.stringify(body));
  });

  test('a ping is GET, HEAD or POST with any body, answered OK in text to any page, never cached', async () => {
    const { id, path } = await create();
    for (const init of [
      { method: 'GET' },
      { method: 'HEAD' },
      { method: 'POST' },
      { method: 'POST', raw: 'plain', headers: { 'content-type': 'text/plain' } },
      { method: 'POST', raw: 'a=b', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
      { method: 'POST', raw: '{broken', headers: { 'content-type': 'application/json' } },
      { method: 'POST', raw: 'odd', headers: { 'content-type': ';;; no type' } },
      { method: 'POST', raw: 'gzip?', headers: { 'content-type': 'x/y', 'content-encoding': 'gzip' } },
    ]) {
      const answer = await ping(path, init);
      assert.deepEqual([answer.status, answer.body], [200, init.method === 'HEAD' ? '' : 'OK'], JSON.stringify(init));
      assert.equal(answer.headers.get('content-type'), 'text/plain; charset=utf-8');
      assert.equal(answer.headers.get('access-control-allow-origin'), '*');
      assert.equal(answer.headers.get('cache-control'), 'no-store');
      assert.equal(answer.headers.get('content-length'), '2');
    }
    const preflight = await ping(path, { method: 'OPTIONS' });
    assert.deepEqual(
      [preflight.status, preflight.headers.get('access-control-allow-methods')],
      [204, 'GET, HEAD, POST, OPTIONS'],
    );
    const { pings } = (await api('GET', `/v1/heartbeats/${id}/pings`)).body;
    assert.deepEqual(
      pings.map((one: { body?: string }) => one.body),
      ['gzip?', 'odd', '{broken', 'a=b', 'plain', undefined, undefined, undefined],
    );
    assert.equal(await statusOf(id), 'up');
  });

  test('the first 10,000 bytes of a body are kept, whatever they are, to the edge of a character; over 12 MiB is refused', async () => {
    const { id, path } = await create();
    await ping(path, { raw: `x${'é'.repeat(9_000)}` });
    await fetch(gateway.url + path, { method: 'POST', body: Buffer.from([0, 255, 128, 10]) });
    const [binary, long] = (await api('GET', `/v1/heartbeats/${id}/pings`)).body.pings;
    assert.equal(long.body, `x${'é'.repeat(4_999)}`);
    assert.equal(binary.body, Buffer.from([0, 255, 128, 10]).toString());
    const rows = await gateway.kernel.sql`select body from heartbeats.pings where monitor_id = ${id} order by seq`;
    assert.deepEqual(rows[1]?.['body'], Buffer.from([0, 255, 128, 10]));
    const huge = await ping(path, { raw: 'x'.repeat(12 * 1024 * 1024 + 1) });
    assert.equal(huge.status, 200, 'a job that prints much is well all the same');
  });

  test('unknown tokens and other words are a 404 in the envelope', async () => {
    const { path } = await create();
    for (const [where, status, code] of [
      [`/ping/${'x'.repeat(32)}`, 404, 'not_found'],
      ['/ping/short', 404, 'not_found'],
      [`/ping/${'%00'.repeat(32)}`, 404, 'not_found'],
      [`${path}x`, 404, 'not_found'],
      [`/ping/${'x'.repeat(32)}/start`, 404, 'not_found'],
      [`${path}/finish`, 404, 'not_found'],
      [`${path}/start/x`, 404, 'not_found'],
    ] as const) {
      const answer = await ping(where);
      assert.deepEqual([answer.status, answer.body.error.code], [status, code], where);
    }
    const refused = await ping('/ping/short');
    assert.equal(refused.headers.get('access-control-allow-origin'), '*');
    assert.equal(refused.headers.get('cache-control'), 'no-store');
    for (const method of ['PUT', 'DELETE']) assert.equal((await ping(path, { method })).status, 404, method);
  });

  test('exit codes are any whole number, and an id of a run that is none costs no ping', async () => {
    const { id, path } = await create();
    for (const [code, kept] of [
      ['256', 256],
      ['-1', -1],
      // An access violation of Windows, as its shells write it.
      ['3221225477', -1_073_741_819],
      ['-1073741819', -1_073_741_819],
      ['99999999999999999999', 2_147_483_647],
    ] as const) {
      assert.equal((await ping(`${path}/${code}`)).status, 200, code);
      const found = await find(id);
      assert.deepEqual([found.status, found.last_exit_code], ['down', kept], code);
    }
    for (const rid of ['', 'no-uuid', 'a&rid=b']) assert.equal((await ping(`${path}?rid=${rid}`)).status, 200, rid);
    const { pings } = (await api('GET', `/v1/heartbeats/${id}/pings?limit=3`)).body;
    for (const one of pings) assert.deepEqual([one.kind, one.rid], ['success', undefined]);
    assert.equal((await find(id)).status, 'up');
  });

  test('start, fail, log and exit codes do what they say', async () => {
    const { id, path } = await create();
    const rid = randomUUID();
    await ping(`${path}/start?rid=${rid.toUpperCase()}`);
    let found = await find(id);
    assert.deepEqual([found.status, found.last_ping_at], ['new', undefined]);
    assert.equal(found.last_start_at, new Date(clock.now()).toISOString());
    await ping(`${path}/log`, { raw: 'half way' });
    assert.equal((await find(id)).last_ping_at, undefined);
    await ping(`${path}/0?rid=${rid}`);
    found = await find(id);
    assert.deepEqual([found.status, found.last_exit_code], ['up', 0]);
    await ping(`${path}/3`, { raw: 'disk full' });
    found = await find(id);
    assert.deepEqual([found.status, found.last_exit_code], ['down', 3]);
    await ping(`${path}/fail`);
    await ping(`${path}/255`);
    assert.deepEqual(await alerts(id), ['heartbeat.down'], 'one alert an outage');
    const bodyOf = async () => (await api('GET', '/v1/notifications?limit=1')).body.notifications[0].body;
    assert.equal(await bodyOf(), 'The job ended with exit code 3.\ndisk full');
    await ping(path);
    assert.deepEqual(await resolutions(id), ['recovered', undefined], 'the alarm is over, its end is news');
    await ping(`${path}/fail`);
    assert.deepEqual(await alerts(id), ['heartbeat.down', 'heartbeat.up', 'heartbeat.down']);
    await api('PATCH', `/v1/heartbeats/${id}`, { paused: true });
    assert.deepEqual(await resolutions(id), ['recovered', undefined, 'paused']);
    const { pings } = (await api('GET', `/v1/heartbeats/${id}/pings`)).body;
    assert.deepEqual(
      pings.map((one: { kind: string }) => one.kind),
      ['fail', 'success', 'exit', 'fail', 'exit', 'exit', 'log', 'start'],
    );
    assert.deepEqual([pings[5].rid, pings[7].rid, pings[5].exit_code], [rid, rid, 0]);
  });

  test('late at the period, down at the period and the grace, to the millisecond, and alerted once', async () => {
    const { id, path } = await create();
    await ping(path);
    clock.advance(10 * minute - 1);
    assert.equal(await statusOf(id), 'up');
    clock.advance(1);
    assert.equal(await statusOf(id), 'late');
    clock.advance(5 * minute - 1);
    assert.equal(await statusOf(id), 'late');
    clock.advance(1);
    await becomes(id, 'down');
    assert.deepEqual(await alerts(id), ['heartbeat.down']);
    clock.advance(20 * minute);
    await ping(`${path}/start`);
    clock.advance(20 * minute);
    assert.equal(await statusOf(id), 'down', 'down never arms again');
    assert.deepEqual(await alerts(id), ['heartbeat.down']);
    await ping(path);
    assert.equal(await statusOf(id), 'up');
    const inbox = (await api('GET', '/v1/notifications')).body.notifications.filter(
      (one: { data: { heartbeat_id: string } }) => one.data.heartbeat_id === id,
    );
    assert.deepEqual(
      inbox.map((one: { title: string; severity: string; url: string; type: string }) => [
        one.title,
        one.severity,
        one.type,
        one.url,
      ]),
      [
        ['job is up again', 'info', 'heartbeat.up', `svc://heartbeats/${id}`],
        ['job is down', 'critical', 'heartbeat.down', `svc://heartbeats/${id}`],
      ],
    );
  });

  test('one that never pinged goes down too, and a start without a success within the grace', async () => {
    const silent = await create();
    const started = await create({ period_s: 6_000 });
    await ping(started.path);
    await ping(`${started.path}/start`);
    clock.advance(5 * minute);
    await becomes(started.id, 'down');
    assert.equal(await statusOf(silent.id), 'new');
    clock.advance(10 * minute);
    await becomes(silent.id, 'down');
  });

  test('paused: nothing fires; resumed it is new; a success resumes it, a start does not', async () => {
    const { id, path } = await create();
    const patch = (body: object) => api('PATCH', `/v1/heartbeats/${id}`, body);
    assert.equal((await patch({ paused: true })).body.status, 'paused');
    assert.equal((await patch({ paused: true })).body.status, 'paused');
    await ping(`${path}/start`);
    clock.advance(20 * minute);
    assert.equal(await statusOf(id), 'paused');
    assert.equal((await patch({ paused: false })).body.status, 'new');
    clock.advance(15 * minute - 1);
    assert.equal(await statusOf(id), 'new');
    await patch({ paused: true });
    await ping(path);
    assert.equal(await statusOf(id), 'up');
    assert.deepEqual(await alerts(id), []);
    clock.advance(15 * minute);
    await becomes(id, 'down');
    assert.equal((await patch({ paused: true })).body.status, 'paused');
    assert.equal((await patch({ paused: false })).body.status, 'new');
    assert.equal((await patch({ paused: false })).body.status, 'new');
  });

  test('silenced: it is down and nobody is told, then told again if it still is; a recovery ends the silence', async () => {
    const { id, path } = await create();
    const mute = (minutes: number) =>
      api('PATCH', `/v1/heartbeats/${id}`, { muted_until: new Date(clock.now() + minutes * minute).toISOString() });
    await ping(`${path}/fail`);
    assert.deepEqual(await alerts(id), ['heartbeat.down']);
    const muted = (await mute(60)).body;
    assert.deepEqual([muted.status, typeof muted.muted_until], ['down', 'string']);
    const item = async () =>
      (await api('GET', '/v1/overview')).body.attention.find((one: { id: string }) => one.id === id);
    assert.deepEqual([(await item()).severity, (await item()).muted_until], ['info', muted.muted_until]);
    clock.advance(60 * minute - 1);
    assert.equal((await find(id)).muted_until, muted.muted_until);
    assert.deepEqual(await alerts(id), ['heartbeat.down']);
    clock.advance(1);
    await until(async () => (await alerts(id)).length === 2);
    assert.deepEqual([(await find(id)).muted_until, await statusOf(id)], [undefined, 'down']);
    assert.equal((await item()).severity, 'critical');
    // A ping that comes at its end takes nothing from who is to be told: the ticker stands while it comes.
    await mute(60);
    await gateway.kernel
      .sql`update heartbeats.monitors set muted_until = now() - interval '100 years' where id = ${id}`;
    await ping(`${path}/start`);
    clock.advance(1_000);
    await until(async () => (await alerts(id)).length === 3);
    // What comes up while it is silenced is told, and ends the silence: the next outage is told at once.
    await mute(60);
    await ping(path);
    assert.equal((await find(id)).muted_until, undefined);
    await ping(`${path}/fail`);
    const before = ['heartbeat.down', 'heartbeat.down', 'heartbeat.down'];
    assert.deepEqual(await alerts(id), [...before, 'heartbeat.up', 'heartbeat.down']);
    // One that is up is silenced ahead: an outage in that time is told of when it is over.
    await ping(path);
    await mute(60);
    await ping(`${path}/fail`);
    assert.equal((await alerts(id)).filter((type) => type === 'heartbeat.down').length, 4);
    clock.advance(60 * minute);
    await until(async () => (await alerts(id)).filter((type) => type === 'heartbeat.down').length === 5);
    assert.equal((await api('PATCH', `/v1/heartbeats/${id}`, { muted_until: '2020-01-01T00:00:00Z' })).status, 400);
    await mute(60);
    assert.equal((await api('PATCH', `/v1/heartbeats/${id}`, { muted_until: null })).body.muted_until, undefined);
  });

  test('a failure while paused is recorded and changes nothing', async () => {
    const { id, path } = await create();
    await api('PATCH', `/v1/heartbeats/${id}`, { paused: true });
    await ping(`${path}/fail`);
    await ping(`${path}/3`);
    assert.equal(await statusOf(id), 'paused');
    assert.deepEqual(await alerts(id), []);
    const { body } = await api('GET', `/v1/heartbeats/${id}/pings`);
    assert.deepEqual(
      body.pings.map(({ kind }: { kind: string }) => kind),
      ['exit', 'fail'],
    );
  });

  for (const [how, resume] of [
    ['the ping that ends the pause', false],
    ['the first ping after the pause', true],
  ] as const) {
    test(`a monitor that was down when it was paused tells its recovery with ${how}`, async () => {
      const { id, path } = await create();
      await ping(`${path}/fail`);
      await api('PATCH', `/v1/heartbeats/${id}`, { paused: true });
      if (resume) await api('PATCH', `/v1/heartbeats/${id}`, { paused: false });
      await ping(path);
      await ping(path);
      assert.deepEqual(await alerts(id), ['heartbeat.down', 'heartbeat.up']);
    });
  }

  test('changed times count from the last success; names and zones change; an empty change is a 400', async () => {
    const { id, path } = await create();
    await ping(path);
    const patch = (body: object) => api('PATCH', `/v1/heartbeats/${id}`, body);
    clock.advance(minute);
    const changed = await patch({ name: 'renamed', period_s: 60, grace_s: 60, tz: 'UTC' });
    assert.deepEqual(
      [changed.status, changed.body.name, changed.body.status, changed.body.period_s, changed.body.tz],
      [200, 'renamed', 'late', 60, 'UTC'],
    );
    assert.equal(changed.body.updated_at, new Date(clock.now()).toISOString());
    clock.advance(minute);
    await becomes(id, 'down');
    assert.equal((await patch({})).status, 400);
    assert.equal((await patch({ period_s: 1 })).status, 400);
    assert.deepEqual((await api('DELETE', `/v1/heartbeats/${id}`)).body, { deleted: true, id });
    assert.equal((await api('DELETE', `/v1/heartbeats/${id}`)).status, 404);
    assert.equal((await ping(path)).status, 404);
  });

  test('the last 100 pings are kept; identical successes that come together are one, nothing else ever is', async () => {
    const { id, path } = await create();
    for (let i = 0; i < 130; i++) await ping(path, { raw: `n${i}` });
    const list = async (query = '') => (await api('GET', `/v1/heartbeats/${id}/pings${query}`)).body.pings;
    const kept = await list();
    assert.deepEqual([kept.length, kept[0].body, kept[99].body], [100, 'n129', 'n30']);
    assert.equal((await list('?limit=3')).length, 3);
    assert.equal((await api('GET', `/v1/heartbeats/${id}/pings?limit=101`)).status, 400);
    const [row] = await gateway.kernel.sql`select count(*) from heartbeats.pings where monitor_id = ${id}`;
    assert.ok(row?.['count'] <= 120);

    const crowd = await create();
    await Promise.all(Array.from({ length: 80 }, () => ping(crowd.path)));
    await Promise.all(
      Array.from({ length: 40 }, (_, i) => ping(`${crowd.path}/${['start', 'fail', '7', 'log'][i % 4]}`)),
    );
    const { pings } = (await api('GET', `/v1/heartbeats/${crowd.id}/pings`)).body;
    const counted = (kind: string) => pings.filter((one: any) => one.kind === kind).map((one: any) => one.count);
    assert.equal(
      counted('success').reduce((sum: number, count: number) => sum + count, 0),
      80,
    );
    assert.ok(counted('success').length < 80);
    for (const kind of ['start', 'fail', 'exit', 'log']) assert.deepEqual(counted(kind), Array(10).fill(1), kind);
  });

  test('eight tickers and both gateways at once tell of an outage once', async () => {
    const made = await Promise.all(Array.from({ length: 20 }, () => create({ name: 'many' })));
    const tickers = Array.from({ length: 8 }, (_, i) => new DeadlineTicker((i % 2 ? gateway : other).kernel, {}));
    clock.advance(15 * minute);
    await Promise.all(tickers.map((ticker) => ticker.tick()));
    for (const { id } of made) {
      await becomes(id, 'down');
      assert.deepEqual(await alerts(id), ['heartbeat.down']);
    }
  });

  test('monitors of another account are not there, and their pings neither', async () => {
    const { id } = await create();
    const stranger = await createAccount(gateway);
    for (const [method, path, body] of [
      ['PATCH', '', { name: 'mine' }],
      ['DELETE', '', undefined],
      ['GET', '/pings', undefined],
    ] as const) {
      const answer = await api(method, `/v1/heartbeats/${id}${path}`, body, stranger.key);
      assert.deepEqual([answer.status, answer.body.error.code], [404, 'not_found'], method);
    }
    assert.deepEqual((await api('GET', '/v1/heartbeats', undefined, stranger.key)).body, { heartbeats: [] });
    assert.equal((await find(id)).name, 'job');
  });

  test('hooks hear of every transition in its transaction; one that throws undoes it, and that one alone', async () => {
    const heard: string[] = [];
    let refused = '';
    const onTransition = async (tx: Db, { event, monitorId }: { event: string; monitorId: string }) => {
      await tx`select 1`;
      if (monitorId === refused) throw new Error('not yet');
      heard.push(`${event} ${monitorId}`);
    };
    const ticker = new DeadlineTicker(gateway.kernel, { onTransition });
    const batches = new PingBatches(gateway.kernel, { onTransition });
    const [bad, good] = [await create({ period_s: 60, grace_s: 60 }), await create({ period_s: 60, grace_s: 60 })];
    refused = bad.id;
    // A look of the gateways' own tickers, of a turn before, ends within some queries; the next comes with the next turn.
    for (let i = 0; i < 100; i += 1) await gateway.kernel.sql`select 1`;
    // Due at this instant by hand.
    await gateway.kernel.sql`update heartbeats.monitors set deadline = ${new Date(clock.now()).toISOString()},
      armed_at = armed_at - interval '1 hour' where id in (${bad.id}, ${good.id})`;
    await ticker.tick();
    assert.deepEqual([await statusOf(bad.id), await alerts(bad.id)], ['new', []]);
    // Twice where it stood before the bad one in the transaction that was undone.
    assert.deepEqual([[...new Set(heard)], await statusOf(good.id)], [[`heartbeat.down ${good.id}`], 'down']);
    refused = '';
    await ticker.tick();
    assert.equal(await statusOf(bad.id), 'down');

    refused = bad.id;
    heard.length = 0;
    const arrivals = [bad, good, good].map(({ path }) => ({
      kind: 'success' as const,
      exitCode: null,
      rid: null,
      body: Buffer.alloc(0),
      hash: hashToken(gateway.kernel.keyring, path.slice('/ping/'.length)) as Buffer,
    }));
    // The first is alone in its transaction; the other two and a third share the next.
    const outcomes = await Promise.allSettled([...arrivals.slice(1), ...arrivals].map((one) => batches.add(one)));
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ['fulfilled', 'fulfilled', 'rejected', 'fulfilled', 'fulfilled'],
    );
    assert.deepEqual([await statusOf(bad.id), await statusOf(good.id)], ['down', 'up']);
    assert.deepEqual(heard, [`heartbeat.up ${good.id}`]);
  });

  test('clients that people have: curl with retries, wget, a shell that sends its exit code and its output', async (t) => {
    const { id, path } = await create();
    const url = gateway.url + path;
    const curl = async (...args: string[]) => (await run('curl', ['-fsS', '-m', '10', '--retry', '5', ...args])).stdout;
    assert.equal(await curl(url), 'OK');
    assert.equal(await curl(`${url}/start`), 'OK');
    assert.equal(await curl('--data-raw', 'backup done: 12 files', url), 'OK');
    assert.equal(await curl('-I', url).then((head) => head.split('\r\n')[0]), 'HTTP/1.1 200 OK');
    await run('sh', [
      '-c',
      `m=$(sh -c 'echo broken; exit 9' 2>&1); curl -fsS -m 10 --retry 5 --data-raw "$m" ${url}/$?`,
    ]);
    await assert.rejects(curl('--retry', '0', `${gateway.url}/ping/nobody`), /404/);
    const wget = await run('wget', ['-q', '-O', '-', '-T', '10', '-t', '3', url]).catch(
      (error: { code?: string }) => error,
    );
    if ('code' in wget && wget.code === 'ENOENT') t.diagnostic('wget is not installed');
    else assert.equal((wget as { stdout: string }).stdout, 'OK');
    const { pings } = (await api('GET', `/v1/heartbeats/${id}/pings`)).body;
    assert.deepEqual(
      pings.filter((one: any) => one.body).map((one: any) => [one.kind, one.body, one.exit_code]),
      [
        ['exit', 'broken', 9],
        ['success', 'backup done: 12 files', undefined],
      ],
    );
  });

  test('what the database cannot take is not answered OK', async () => {
    const { id, path } = await create();
    const app = buildApp({
      ...gateway.kernel,
      metrics: createMetrics(),
      sql: new Proxy(gateway.kernel.sql, {
        get: (target, name) =>
          name === 'begin'
            ? () => Promise.reject(Object.assign(new Error('gone'), { code: 'CONNECTION_CLOSED' }))
            : Reflect.get(target, name),
      }),
    });
    const answer = await app.http.inject({ method: 'GET', url: path });
    assert.deepEqual([answer.statusCode, answer.headers['retry-after']], [503, '1']);
    assert.equal(await statusOf(id), 'new');
    await app.http.close();
  });

  test('no token is in a log line, a usage record or an error', async () => {
    const { path } = await create();
    const token = path.slice('/ping/'.length);
    await ping(path);
    await ping(`${path}/999`);
    const unknown = await ping(`/ping/${'y'.repeat(32)}`);
    assert.ok(!JSON.stringify(unknown.body).includes('yyy'));
    await gateway.kernel.usage.flush();
    const rows = await gateway.kernel.sql`select 1 from kernel.usage_records u where u::text like ${`%${token}%`}`;
    assert.equal(rows.length, 0);
    assert.ok(!logged.includes(token) && !logged.includes('y'.repeat(32)));
  });

  test('end to end, any sequence leaves a monitor and its alerts as the rules say, over two gateways', async () => {
    const step = fc.oneof(
      fc.record({ advance: fc.constantFrom(1, 59_999, minute, minute + 1, 2 * minute, 5 * minute) }),
      fc.record({ signal: fc.constantFrom('', '/start', '/fail', '/0', '/1', '/log') }),
      fc.record({ paused: fc.boolean() }),
    );
    const { naive } = await import('./heartbeats.model.test.ts');
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
        const { id, path } = await create({ period_s: 60, grace_s: 60 });
        const model = naive(clock.now(), 60, 60);
        for (const [i, one] of steps.entries()) {
          if ('advance' in one) clock.advance(one.advance);
          else if ('signal' in one) await ping(path + one.signal, {}, i % 2 ? gateway : other);
          else await api('PATCH', `/v1/heartbeats/${id}`, { paused: one.paused });
          model.run(clock.now(), 'signal' in one ? { signal: one.signal } : 'paused' in one ? one : {});
        }
        await becomes(id, model.shown(clock.now()));
        assert.deepEqual(await alerts(id), model.alerts);
      }),
      { numRuns: 40 },
    );
  });
});
