import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { http } from '../../testing.ts';
import { shared } from '../../testing.shared.ts';
import { lastDevice } from './scheduler.runs.sql.ts';
import { runColumns } from './scheduler.sql.ts';
import type { Fragment } from '../../kernel/db/db.ts';
import { type Json, minute, newDevice, openScheduler, type SchedulerTest, shell } from './scheduler.testing.ts';

describe('scheduler: lists of runs, one run, and once more', () => {
  const base = shared(() => openScheduler());
  /** A schedule that only runs by hand. */
  const byHand = { trigger: { type: 'event', trigger_id: 'never' } };

  const list = async (t: SchedulerTest, query: string): Promise<Json[]> => {
    const { status, body } = await t.call('GET', `/v1/schedule-runs?${query}`);
    assert.equal(status, 200, JSON.stringify(body));
    return body.runs;
  };
  const ids = async (t: SchedulerTest, query: string) => (await list(t, query)).map(({ id }) => id);
  const one = async (t: SchedulerTest, id: string): Promise<Json> =>
    (await t.call('GET', `/v1/schedule-runs/${id}`)).body;

  test('a list is narrowed by some states, the host and the time, all together and page by page', async () => {
    const t = await base.fresh();
    const [mine, others] = [newDevice(), newDevice()];
    const schedule = await t.create(byHand);
    const times: string[] = [];
    const made: string[] = [];
    for (const [ok, device] of [
      [true, mine],
      [false, mine],
      [true, others],
      [false, others],
    ] as const) {
      times.push(new Date(t.clock.now()).toISOString());
      await t.runNow(schedule);
      const run = await t.claim(device);
      await t.result(run, device, { ok });
      made.unshift(run.id);
      t.clock.advance(minute);
    }
    await t.call('PATCH', `/v1/schedules/${schedule.id}`, { enabled: true });
    await t.runNow(schedule);
    const [held] = await list(t, 'state=pending');
    const running = await t.claim(mine);
    assert.equal(running.id, held.id);
    const [fourth, third, secondRun, first] = made;
    assert.deepEqual(await ids(t, 'state=succeeded'), [third, first]);
    assert.deepEqual(await ids(t, 'state=running,failed'), [held.id, fourth, secondRun]);
    assert.deepEqual(await ids(t, 'state=failed,%20running,failed,'), [held.id, fourth, secondRun]);
    assert.deepEqual(await ids(t, `device_id=${mine}`), [held.id, secondRun, first]);
    assert.deepEqual(await ids(t, `device_id=${others}&state=failed,succeeded`), [fourth, third]);
    assert.deepEqual(await ids(t, `device_id=${newDevice()}`), []);
    assert.deepEqual(await ids(t, `from=${times[1]}&to=${times[3]}`), [third, secondRun]);
    assert.deepEqual(await ids(t, `from=${times[3]}&state=failed`), [fourth]);
    const page = (await t.call('GET', '/v1/schedule-runs?state=failed,succeeded,running&limit=2')).body;
    assert.deepEqual(
      page.runs.map(({ id }: Json) => id),
      [held.id, fourth],
    );
    assert.deepEqual(await ids(t, `state=failed,succeeded,running&cursor=${page.next_cursor}`), [
      third,
      secondRun,
      first,
    ]);
    for (const bad of ['state=', 'state=done', 'state=failed,done', 'from=yesterday', 'device_id=1']) {
      assert.equal((await t.call('GET', `/v1/schedule-runs?${bad}`)).status, 400, bad);
    }
  });

  test('each list is read from an index', async () => {
    const t = await base.fresh();
    const { sql } = t.gateway.kernel;
    const plans = await sql.begin(async (db) => {
      await db`set local enable_seqscan = off`;
      await db`set local enable_bitmapscan = off`;
      const plan = async (where: Fragment) =>
        JSON.stringify(
          await db`explain (format json) select ${runColumns(db)} from scheduler.runs r
            where r.account_id = ${t.account.id} and ${where} order by r.ordinal desc limit 51`,
        );
      return [
        await plan(db`r.state in ('failed')`),
        await plan(db`r.pool = 'host' and ${lastDevice(db)} = ${newDevice()}::text`),
      ];
    });
    assert.match(plans[0] as string, /runs_by_state/);
    assert.match(plans[1] as string, /runs_of_device/);
  });

  test('one run shows its work while it is not over, and each of its attempts', async () => {
    const t = await base.fresh();
    const schedule = await t.create(shell('true', { ...byHand, retries: 1, retry_backoff_s: 1, timeout_s: 600 }));
    await t.runNow(schedule);
    const [run] = await t.runsOf(schedule);
    const before = await one(t, run.id);
    assert.deepEqual(
      [before.name, before.kind, before.spec, before.timeout_s, before.attempts],
      ['test', 'shell', { command: 'true', shell: 'sh' }, 600, []],
    );
    assert.equal(before.command_hash, schedule.command_hash);
    const device = newDevice();
    await t.call(
      'POST',
      `/v1/schedules/${schedule.id}/approve-command`,
      { command_hash: schedule.command_hash },
      device,
    );
    const claimed = await t.claim(device);
    const startedAt = new Date(t.clock.now()).toISOString();
    const held = { attempt: 1, device_id: device, state: 'running', started_at: startedAt };
    assert.deepEqual((await one(t, run.id)).attempts, [held]);
    await t.result(claimed, device, { ok: false, exit_code: 3, error: 'no disk' });
    const lost = { ...held, state: 'failed', finished_at: startedAt, error: 'no disk' };
    assert.deepEqual((await one(t, run.id)).attempts, [lost]);
    t.clock.advance(minute);
    const again = await t.claim(device);
    await t.turnTo(minute, schedule, 'pending');
    const third = await t.claim(device);
    await t.result(third, device, { ok: true });
    const over = await one(t, run.id);
    assert.deepEqual([over.state, over.spec, again.attempt], ['succeeded', undefined, 2]);
    assert.deepEqual(
      over.attempts.map(({ attempt, state }: Json) => [attempt, state]),
      [
        [1, 'failed'],
        [2, 'lost'],
        [3, 'succeeded'],
      ],
    );
  });

  test('an attempt that was refused or cancelled is told as that; the last ten are kept', async () => {
    const t = await base.fresh();
    const schedule = await t.create(byHand);
    await t.runNow(schedule);
    const [run] = await t.runsOf(schedule);
    for (let n = 0; n < 12; n++) {
      const device = newDevice();
      await t.result(await t.claim(device), device, { ok: false, not_started: 'not_approved' });
    }
    const { attempts } = await one(t, run.id);
    assert.deepEqual(
      attempts.map(({ attempt, state }: Json) => [attempt, state]),
      [3, 4, 5, 6, 7, 8, 9, 10, 11, 12].map((attempt) => [attempt, 'refused']),
    );
    await t.claim(newDevice());
    await t.call('POST', `/v1/schedule-runs/${run.id}/cancel`);
    const last = (await one(t, run.id)).attempts.at(-1);
    assert.deepEqual([last.attempt, last.state, last.error], [13, 'cancelled', 'cancelled by a person']);
  });

  test('a run that is over is run again as its schedule says now; one that is not is a 409, a deleted schedule a 404', async () => {
    const t = await base.fresh();
    const schedule = await t.create(byHand);
    await t.runNow(schedule);
    const [run] = await t.runsOf(schedule);
    const again = (key?: string) =>
      http(t.gateway.url, `/v1/schedule-runs/${run.id}/rerun`, {
        method: 'POST',
        key: t.account.key,
        ...(key !== undefined && { headers: { 'idempotency-key': key } }),
      });
    const early = await again();
    assert.deepEqual([early.status, early.body.error.code], [409, 'task_not_confirmable']);
    const device = newDevice();
    await t.result(await t.claim(device), device, { ok: true });
    await t.call('PATCH', `/v1/schedules/${schedule.id}`, { spec: { prompt: 'another' } });
    const made = await again('once');
    assert.deepEqual([made.status, made.body.queued], [202, true]);
    assert.deepEqual((await again('once')).body, made.body);
    assert.equal((await t.runsOf(schedule)).length, 2);
    assert.equal((await one(t, made.body.run_id)).spec.prompt, 'another');
    assert.deepEqual((await again()).body, { queued: false });
    await t.call('DELETE', `/v1/schedules/${schedule.id}`);
    const gone = await again();
    assert.equal(gone.status, 404);
    assert.match(gone.body.error.message, /schedule of this run was deleted/);
  });

  test('a key without the scope of schedules cannot run one again', async () => {
    const t = await base.fresh();
    const schedule = await t.create(byHand);
    await t.runNow(schedule);
    const [run] = await t.runsOf(schedule);
    await t.call('POST', `/v1/schedule-runs/${run.id}/cancel`);
    const narrow = (await t.call('POST', '/v1/keys', { name: 'runs', scopes: ['scheduler'] })).body.key;
    const { status } = await http(t.gateway.url, `/v1/schedule-runs/${run.id}/rerun`, { method: 'POST', key: narrow });
    assert.equal(status, 403);
  });

  test('a log tells how many bytes are kept, also of a part and of none', async () => {
    const t = await base.fresh();
    const schedule = await t.create(byHand);
    await t.runNow(schedule);
    const device = newDevice();
    const run = await t.claim(device);
    const bytes = async (query = '', method = 'GET') => {
      const path = `/v1/schedule-runs/${run.id}/log${query}`;
      return (await http(t.gateway.url, path, { method, key: t.account.key })).headers.get('x-svc-log-bytes');
    };
    assert.equal(await bytes(), '0');
    const headers = { 'x-svc-device': device, 'content-type': 'application/octet-stream' };
    const path = `/v1/schedule-runs/${run.id}/log?attempt=1&offset=0`;
    await http(t.gateway.url, path, { method: 'POST', key: t.account.key, headers, raw: 'so far' });
    assert.deepEqual([await bytes(), await bytes('?from=3'), await bytes('', 'HEAD')], ['6', '6', '6']);
  });
});
