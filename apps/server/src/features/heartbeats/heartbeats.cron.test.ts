import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { testClock } from '../../kernel/base/clock.ts';
import { shared } from '../../testing.shared.ts';
import { http, openTest, until } from '../../testing.ts';

const minute = 60_000;
const hour = 60 * minute;

describe('a monitor that goes by a cron expression', () => {
  const clock = testClock(Date.parse('2026-03-28T10:00:00Z'));
  const { gateway, account } = shared(() => openTest({ clock }));
  const api = (method: string, path: string, body?: unknown) =>
    http(gateway.url, path, { method, key: account.key, ...(body !== undefined && { body }) });
  const create = async (body: object) => {
    const made = await api('POST', '/v1/heartbeats', { name: 'job', ...body });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    return { ...made.body, path: new URL(made.body.ping_url).pathname };
  };
  const find = async (id: string) => (await api('GET', `/v1/heartbeats/${id}`)).body;
  const statusOf = async (id: string) => (await find(id)).status;
  const goTo = (instant: number): void => clock.leap(instant - clock.now());
  const becomes = (id: string, status: string) => until(async () => (await statusOf(id)) === status);
  const ping = (path: string) => http(gateway.url, path);
  const alerts = async (id: string): Promise<string[]> => {
    const rows = await gateway.kernel.sql`
      select type from notifications.notifications where data->>'heartbeat_id' = ${id} order by seq`;
    return rows.map((row) => row['type']);
  };
  const faultsOf = async (method: string, path: string, body: object) => {
    const answer = await api(method, path, body);
    assert.deepEqual([answer.status, answer.body.error?.code], [400, 'bad_request'], JSON.stringify(body));
    return Object.keys(answer.body.error.details.fieldErrors);
  };

  test('has the expression, its zone, and the gap between the next two instants as period', async () => {
    const { id } = await create({ cron: '15 3 * * 1-5', tz: 'UTC' });
    const { name, period_s, cron, grace_s, tz, status } = await find(id);
    assert.deepEqual(
      { name, period_s, cron, grace_s, tz, status },
      { name: 'job', period_s: 86_400, cron: '15 3 * * 1-5', grace_s: 3_600, tz: 'UTC', status: 'new' },
    );
    assert.equal((await create({ cron: '*/2 * * * *' })).grace_s, 120, 'no grace beyond the gap by default');
    assert.equal((await create({ cron: '@hourly', period_s: null })).period_s, 3_600);
    assert.equal((await create({ cron: '0 0 1 1 *' })).period_s, 2_592_000, 'no more than the document allows');
  });

  test('needs one of period_s and cron, and an expression that schedules take', async () => {
    const of = (body: object) => faultsOf('POST', '/v1/heartbeats', { name: 'x', ...body });
    assert.deepEqual(await of({}), ['period_s']);
    assert.deepEqual(await of({ period_s: null, cron: null }), ['period_s']);
    assert.deepEqual(await of({ period_s: 60, cron: '* * * * *' }), ['cron']);
    for (const cron of ['', 'x', '61 * * * *', '* * * *', '0 0 31 2 *', '0 0 3 * * *', '* * * * *\n', 5, {}]) {
      assert.deepEqual(await of({ cron }), ['cron'], JSON.stringify(cron));
    }
    assert.deepEqual(await of({ cron: `${'0,'.repeat(120)}0 * * * *` }), ['cron']);
    assert.deepEqual(await of({ cron: '* * * * *', tz: '+02:00' }), ['tz']);
    assert.deepEqual(await of({ cron: '* * * * *', tz: 'Mars/Base' }), ['tz']);
  });

  test('is late at the instant, down after the grace, alerted once, and recovers, over a change of the clock', async () => {
    // 03:30 in Bucharest: a day of 23 hours ends in between, and 03:30 does not exist on it.
    const { id, path } = await create({ cron: '30 3 * * *', grace_s: 1_800 });
    assert.equal((await ping(path)).status, 200);
    goTo(Date.parse('2026-03-29T01:00:00Z') - 1);
    assert.equal(await statusOf(id), 'up');
    clock.advance(1);
    assert.equal(await statusOf(id), 'late');
    clock.advance(30 * minute - 1);
    assert.equal(await statusOf(id), 'late');
    clock.advance(1);
    await becomes(id, 'down');
    clock.leap(48 * hour);
    await ping(`${path}/start`);
    assert.deepEqual([await statusOf(id), await alerts(id)], ['down', ['heartbeat.down']]);
    const { notifications } = (await api('GET', '/v1/notifications')).body;
    const told = notifications.find((one: { data: { heartbeat_id: string } }) => one.data.heartbeat_id === id);
    assert.equal(told.body, 'No success by 2026-03-29T01:00:00.000Z and within 30 min of grace.');
    await ping(`${path}/0`);
    assert.deepEqual([await statusOf(id), await alerts(id)], ['up', ['heartbeat.down', 'heartbeat.up']]);
  });

  test('expects the next instant after a pause; a start, a failure and an end go as with seconds', async () => {
    const { id, path } = await create({ cron: '0 * * * *', tz: 'UTC', grace_s: 60 });
    const patch = (body: object) => api('PATCH', `/v1/heartbeats/${id}`, body);
    await patch({ paused: true });
    clock.leap(3 * hour);
    assert.equal((await patch({ paused: false })).body.status, 'new');
    await ping(`${path}/start`);
    clock.advance(minute);
    await becomes(id, 'down');
    await ping(path);
    assert.equal(await statusOf(id), 'up');
    await ping(`${path}/3`);
    assert.equal(await statusOf(id), 'down');
    await patch({ paused: true });
    await ping(path);
    assert.equal(await statusOf(id), 'up');
    goTo(Math.ceil((clock.now() + 1) / hour) * hour + minute);
    await becomes(id, 'down');
    assert.deepEqual((await alerts(id)).length, 5);
  });

  test('is changed to seconds and back; the other term ends, and the new one counts from now on', async () => {
    goTo(Math.ceil((clock.now() + 1) / hour) * hour + 10 * minute);
    const { id, path } = await create({ period_s: 600, grace_s: 600 });
    await ping(path);
    const patch = async (body: object) => (await api('PATCH', `/v1/heartbeats/${id}`, body)).body;
    const byCron = await patch({ cron: '0 * * * *', grace_s: null });
    assert.deepEqual([byCron.cron, byCron.period_s, byCron.grace_s, byCron.status], ['0 * * * *', 3_600, 3_600, 'up']);
    clock.advance(40 * minute);
    assert.equal(await statusOf(id), 'up');
    // The beginning of this hour is over: the monitor is not late for it.
    assert.equal((await patch({ cron: '5 * * * *' })).status, 'up');
    assert.equal((await patch({ name: 'still' })).cron, '5 * * * *');
    assert.equal((await patch({ cron: null, grace_s: 1_200 })).cron, '5 * * * *', 'null says nothing of it');
    assert.deepEqual(await faultsOf('PATCH', `/v1/heartbeats/${id}`, { cron: '0 * * * *', period_s: 60 }), ['cron']);
    assert.deepEqual(await faultsOf('PATCH', `/v1/heartbeats/${id}`, { cron: 'x' }), ['cron']);
    assert.deepEqual(await faultsOf('PATCH', `/v1/heartbeats/${id}`, { tz: '+02:00' }), ['tz']);
    assert.deepEqual(await faultsOf('PATCH', `/v1/heartbeats/${id}`, { cron: null, period_s: null }), ['body']);
    const bySeconds = await patch({ period_s: 1_800, cron: null });
    assert.deepEqual([bySeconds.cron, bySeconds.period_s, bySeconds.status], [null, 1_800, 'late']);
    clock.advance(10 * minute);
    await becomes(id, 'down');
    await ping(path);
    clock.advance(30 * minute);
    assert.equal(await statusOf(id), 'late');
  });
});
