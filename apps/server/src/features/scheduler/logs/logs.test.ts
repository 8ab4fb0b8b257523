import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { createClient } from '@svc/sdk';
import { setQuota } from '../../../kernel/records/quotas.ts';
import { shared } from '../../../testing.shared.ts';
import { createAccount, http, until } from '../../../testing.ts';
import { mostLogBytes, storeLogs, sweepLogs } from './store.ts';
import { hour, type Json, minute, newDevice, openScheduler, type SchedulerTest } from '../scheduler.testing.ts';

const byHand = { trigger: { type: 'event', trigger_id: 'never' } };

describe('scheduler: logs of runs', () => {
  let t: SchedulerTest;
  let device: string;
  const base = shared(() => openScheduler());
  beforeEach(async () => {
    t = await base.fresh();
    device = newDevice();
  });
  const begin = async (fields: Json = {}): Promise<Json> => {
    await t.runNow(await t.create({ ...byHand, ...fields }));
    return t.claim(device);
  };
  const append = (run: Json, offset: number, text: string | Buffer, by = device) =>
    fetch(`${t.gateway.url}/v1/schedule-runs/${run.id}/log?attempt=${run.attempt}&offset=${offset}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${t.account.key}`,
        'content-type': 'application/octet-stream',
        'x-svc-device': by,
      },
      body: typeof text === 'string' ? text : new Uint8Array(text),
    });
  const added = async (...call: Parameters<typeof append>): Promise<Json> => {
    const answer = await append(...call);
    assert.equal(answer.status, 200);
    return answer.json();
  };
  const read = async (run: Json, from = 0, method = 'GET'): Promise<string> => {
    const headers = { authorization: `Bearer ${t.account.key}` };
    const answer = await fetch(`${t.gateway.url}/v1/schedule-runs/${run.id}/log?from=${from}`, { method, headers });
    assert.deepEqual([answer.status, answer.headers.get('content-type')], [200, 'text/plain; charset=utf-8']);
    return answer.text();
  };
  const client = () => createClient({ baseUrl: t.gateway.url, apiKey: t.account.key });

  test('pieces come in order, once each: a repeat, an overlap and a gap add nothing twice', async () => {
    const run = await begin();
    assert.equal(await read(run), '', 'nothing was written yet');
    assert.deepEqual(await added(run, 0, 'one '), { bytes: 4, full: false });
    assert.deepEqual(await added(run, 0, 'one '), { bytes: 4, full: false });
    assert.deepEqual(await added(run, 2, 'e two '), { bytes: 8, full: false });
    assert.deepEqual(await added(run, 50, 'gap'), { bytes: 8, full: false });
    assert.deepEqual(await added(run, 8, '🙂'), { bytes: 12, full: false });
    assert.equal(await read(run), 'one two 🙂');
    assert.deepEqual([await read(run, 4), await read(run, 12), await read(run, 99)], ['two 🙂', '', '']);
    assert.equal(await read(run, 0, 'HEAD'), '');
  });

  test('only the holder of an attempt writes to it, after its end too; attempts follow each other', async () => {
    const run = await begin({ retries: 1, retry_backoff_s: 1 });
    await added(run, 0, 'first;');
    assert.equal((await append(run, 6, 'x', newDevice())).status, 409);
    assert.equal((await append({ ...run, attempt: 2 }, 0, 'x')).status, 409);
    assert.equal((await append(run, 6, Buffer.from([0xff]))).status, 400);
    assert.equal((await append(run, 6, Buffer.alloc(1024 * 1024 + 1))).status, 413);
    await t.result(run, device, { ok: false });
    assert.deepEqual(await added(run, 6, 'late;'), { bytes: 11, full: false });
    t.clock.leap(minute);
    const again = await t.claim(device);
    assert.deepEqual(await added(again, 0, 'second'), { bytes: 6, full: false });
    assert.equal((await added(run, 11, 'too late')).full, true);
    assert.equal(await read(run), 'first;late;second');
    const stranger = await createAccount(t.gateway);
    const answer = await http(t.gateway.url, `/v1/schedule-runs/${run.id}/log`, { key: stranger.key });
    assert.equal(answer.status, 404);
  });

  test('a run keeps its first 10 MiB, an account what its quota says', async () => {
    const run = await begin();
    const piece = Buffer.alloc(1024 * 1024, 'a');
    for (let at = 0; at < 10; at += 1) {
      assert.deepEqual(await added(run, at * piece.length, piece), { bytes: (at + 1) * piece.length, full: at === 9 });
    }
    assert.deepEqual(await added(run, mostLogBytes, 'more'), { bytes: mostLogBytes, full: true });
    assert.equal((await read(run)).length, mostLogBytes);
    await setQuota(t.gateway.kernel.sql, t.account.id, 'run_log_bytes', 5);
    const next = await begin();
    const refused = await append(next, 0, 'x');
    assert.deepEqual([refused.status, ((await refused.json()) as Json).error.code], [429, 'quota_exceeded']);
    const { quotas } = (await t.call('GET', '/v1/usage')).body;
    const use = quotas.find(({ name }: Json) => name === 'run_log_bytes');
    assert.deepEqual([use.used, use.limit], [mostLogBytes, 5]);
  });

  test('what rests becomes a blob that reads alike, also when more comes after it, and goes after 30 days', async () => {
    const { kernel } = t.gateway;
    const run = await begin();
    await added(run, 0, 'first ');
    await added(run, 6, 'part ');
    const parts = async () => (await kernel.sql`select 1 from scheduler.log_parts where run_id = ${run.id}`).length;
    await storeLogs.run(kernel);
    assert.equal(await parts(), 2, 'it may go on at any moment');
    // The last of it may come late.
    await t.result(run, device, { ok: true });
    t.clock.leap(6 * minute);
    await storeLogs.run(kernel);
    const name = `schedule-logs/${t.account.id}/${run.id}`;
    assert.deepEqual([await parts(), await kernel.blobs.size(name)], [0, 11]);
    await added(run, 11, 'and more');
    assert.deepEqual(
      [await read(run), await read(run, 6), await read(run, 13)],
      ['first part and more', 'part and more', 'd more'],
    );
    t.clock.leap(6 * minute);
    await storeLogs.run(kernel);
    assert.deepEqual([await parts(), await kernel.blobs.size(name), await read(run, 6)], [0, 19, 'part and more']);
    await sweepLogs(kernel, new Date(t.clock.now() + 29 * 24 * hour).toISOString());
    assert.equal(await read(run), 'first part and more');
    await sweepLogs(kernel, new Date(t.clock.now() + 31 * 24 * hour).toISOString());
    assert.deepEqual([await read(run), await kernel.blobs.size(name)], ['', undefined]);
  });

  test('who follows gets what is there, then what comes, and the end of the run', async () => {
    const run = await begin();
    await added(run, 0, 'before ');
    const frames = client().scheduler.log.events({ params: { id: run.id }, query: { from: 3 } });
    const next = async () => (await frames.next()).value;
    assert.deepEqual(await next(), { event: 'log', data: { from: 3, text: 'ore ' } });
    await added(run, 7, 'now 🙂');
    assert.deepEqual(await next(), { event: 'log', data: { from: 7, text: 'now 🙂' } });
    await added(run, 15, 'last');
    await t.result(run, device, { ok: true });
    assert.deepEqual(await next(), { event: 'log', data: { from: 15, text: 'last' } });
    assert.deepEqual(await next(), { event: 'end', data: { state: 'succeeded', bytes: 19 } });
    assert.equal((await frames.next()).done, true);
    const whole = [];
    for await (const { event, data } of client().scheduler.log.events({ params: { id: run.id } })) {
      whole.push(event === 'log' ? data.text : event);
    }
    assert.equal(whole.join(''), 'before now 🙂lastend');
  });

  test('a reader that is slow gets all of a long log, and one that leaves holds nothing', async () => {
    const run = await begin();
    const piece = Buffer.alloc(1024 * 1024, 'b');
    for (let at = 0; at < 4; at += 1) await added(run, at * piece.length, piece);
    await t.result(run, device, { ok: true });
    let length = 0;
    for await (const frame of client().scheduler.log.events({ params: { id: run.id } })) {
      if (frame.event === 'log') length += frame.data.text.length;
    }
    assert.equal(length, 4 * piece.length);
    const going = await begin();
    const leaving = new AbortController();
    const follow = client().scheduler.log.events({ params: { id: going.id } }, { signal: leaving.signal });
    const first = follow.next();
    await until(async () => t.gateway.kernel.streams.count() === 1);
    leaving.abort();
    await assert.rejects(first);
    await until(async () => t.gateway.kernel.streams.count() === 0);
  });

  test('one whose blob is missing is an error and never empty, and what is added to it is not stored in its place', async () => {
    const { blobs, sql } = t.gateway.kernel;
    const run = await begin();
    await added(run, 0, 'stored ');
    await t.result(run, device, { ok: true });
    t.clock.leap(6 * minute);
    await storeLogs.run(t.gateway.kernel);
    await added(run, 7, 'loose');
    const name = `schedule-logs/${t.account.id}/${run.id}`;
    await blobs.delete(name);
    for (const from of [0, 3]) {
      const { status, body } = await t.call('GET', `/v1/schedule-runs/${run.id}/log?from=${from}`);
      assert.deepEqual([status, body.error.code], [500, 'internal_error']);
      assert.match(body.error.message, /^the log of this run is missing in the store.*svc doctor/);
    }
    assert.equal(await read(run, 7), 'loose');
    const other = await begin();
    await added(other, 0, 'of another');
    await t.result(other, device, { ok: true });
    t.clock.leap(6 * minute);
    await storeLogs.run(t.gateway.kernel);
    assert.equal(await blobs.get(name), undefined);
    const [kept] = await sql`select stored_bytes::int as stored from scheduler.logs where run_id = ${run.id}`;
    assert.equal(kept?.['stored'], 7);
    assert.equal((await sql`select 1 from scheduler.log_parts where run_id = ${other.id}`).length, 0);
    await blobs.put(name, Buffer.from('stored '));
    assert.equal(await read(run), 'stored loose');
  });

  test('output of the cloud is kept whole too, and a deleted account keeps no log', async () => {
    const run = await begin();
    await added(run, 0, 'x');
    t.clock.leap(6 * minute);
    await storeLogs.run(t.gateway.kernel);
    const { schedulerManifest } = await import('../index.ts');
    const report = await schedulerManifest.data?.end?.(t.gateway.kernel, { accountId: t.account.id, email: undefined });
    assert.deepEqual(report, { deleted: { 'blobs of logs': 1 } });
    assert.deepEqual(await t.gateway.kernel.blobs.list(`schedule-logs/${t.account.id}/`), []);
  });

  test('every run is reached page by page, of the account and of one schedule, also while new ones come', async () => {
    const [one, two] = [await t.create({ ...byHand, overlap: 'queue' }), await t.create(byHand)];
    const ids: string[] = [];
    for (let at = 0; at < 7; at += 1) {
      await t.runNow(at % 2 === 0 ? one : two);
      const run = await t.claim(device);
      ids.unshift(run.id);
      await t.result(run, device, { ok: true });
    }
    const walk = async (path: string): Promise<string[]> => {
      const seen: string[] = [];
      for (let cursor: string | undefined = ''; cursor !== undefined; ) {
        const { body }: Json = await t.call('GET', `${path}limit=2${cursor && `&cursor=${cursor}`}`);
        seen.push(...body.runs.map(({ id }: Json) => id));
        if (cursor === '') {
          await t.runNow(two);
          await t.result(await t.claim(device), device, { ok: true });
        }
        cursor = body.next_cursor;
      }
      return seen;
    };
    assert.deepEqual(await walk('/v1/schedule-runs?'), ids);
    const ofOne = ids.filter((_, at) => at % 2 === 0);
    assert.deepEqual(await walk(`/v1/schedules/${one.id}/runs?`), ofOne);
    assert.deepEqual(await walk(`/v1/schedule-runs?schedule_id=${one.id}&`), ofOne);
    for (const cursor of ['x', '-1', '1.5', '9'.repeat(19)]) {
      assert.equal((await t.call('GET', `/v1/schedule-runs?cursor=${cursor}`)).status, 400, cursor);
    }
  });
});
