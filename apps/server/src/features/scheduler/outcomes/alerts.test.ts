import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { shared } from '../../../testing.shared.ts';
import { hour, type Json, minute, newDevice, openScheduler, type SchedulerTest, second } from '../scheduler.testing.ts';

describe('scheduler: what people are told', () => {
  let t: SchedulerTest;

  const base = shared(() => openScheduler());
  beforeEach(async () => {
    t = await base.fresh();
  });
  const byHand = { trigger: { type: 'event', trigger_id: 'never' }, name: 'backup' };
  const told = async (): Promise<Json[]> => (await t.call('GET', '/v1/notifications')).body.notifications;
  /** What was told, newest first, and how it was resolved. */
  const resolved = async (): Promise<string[]> =>
    (await told()).map(({ type, resolution }) => (resolution === undefined ? type : `${type}: ${resolution}`));
  const types = async (): Promise<string[]> =>
    (await told()).map((notification) => notification.type as string).toSorted();
  /** Runs it once and ends it. */
  const end = async (schedule: Json, result: Json): Promise<Json> => {
    assert.equal(await t.runNow(schedule), true);
    const device = newDevice();
    return (await t.result(await t.claim(device), device, result)).body.run;
  };

  test('a run that awaits approval, with a link to the run', async () => {
    const schedule = await t.create({ ...byHand, policy: { approval: 'always' } });
    await t.runNow(schedule);
    const [run] = await t.runsOf(schedule);
    const [notification] = await told();
    assert.equal(notification.type, 'schedule.approval');
    assert.equal(notification.title, 'backup awaits approval');
    assert.equal(notification.url, `svc://schedule-runs/${run.id}`);
    assert.deepEqual(notification.data, { run_id: run.id, schedule_id: schedule.id, state: 'awaiting_approval' });
    assert.deepEqual([notification.read_at, notification.resolved_at], [undefined, undefined]);
    await t.call('POST', `/v1/schedule-runs/${run.id}/decision`, { decision: 'approve' });
    assert.deepEqual(await resolved(), ['schedule.approval: approved']);
    assert.notEqual((await told())[0].read_at, undefined);
  });

  test('what was told of a run or a schedule is resolved by whatever ends it', async () => {
    const approval = { policy: { approval: 'always' } };
    const gone = await t.create({ ...byHand, ...approval });
    await t.runNow(gone);
    await t.call('DELETE', `/v1/schedules/${gone.id}`);
    assert.deepEqual(await resolved(), ['schedule.approval: cancelled']);

    const late = await t.create({ ...byHand, late_after_s: 30 });
    await t.runNow(late);
    await t.turn(31 * second, async () => (await told()).length === 2);
    const device = newDevice();
    const run = await t.claim(device);
    assert.deepEqual(await resolved(), ['schedule.late: started', 'schedule.approval: cancelled']);
    await t.result(run, device, { ok: false, exit_code: 1 });
    assert.deepEqual((await resolved())[0], 'schedule.failed');
    await end(late, { ok: true });
    assert.deepEqual((await resolved())[0], 'schedule.failed: recovered');

    const off = await t.create({ ...byHand, policy: { pause_after_failures: 1 } });
    await end(off, { ok: false });
    assert.deepEqual((await resolved()).slice(0, 2), ['schedule.disabled', 'schedule.failed']);
    await t.call('PATCH', `/v1/schedules/${off.id}`, { enabled: true });
    assert.deepEqual((await resolved()).slice(0, 2), ['schedule.disabled: resumed', 'schedule.failed: resumed']);
    assert.equal((await t.call('GET', '/v1/notifications')).body.unread_count, 0);
  });

  test('titles are in the language of the account', async () => {
    await t.gateway.kernel.sql`update accounts.accounts set locale = 'ro' where id = ${t.account.id}`;
    await end(await t.create(byHand), { ok: false, exit_code: 3 });
    assert.equal((await told())[0].title, 'backup a eșuat');
  });

  test('an exit code that a machine tells of in words is told once', async () => {
    await end(await t.create(byHand), { ok: false, exit_code: 3, error: 'exit code 3' });
    assert.equal((await told())[0].body, 'exit code 3');
  });

  test('a run nobody started within late_after_s: once, with a link to the run; 0 switches it off', async () => {
    const schedule = await t.create({ ...byHand, late_after_s: 30 });
    const silent = await t.create({ ...byHand, late_after_s: 0 });
    await t.runNow(schedule);
    await t.runNow(silent);
    const [run] = await t.runsOf(schedule);
    await t.turn(29 * second, async () => true);
    assert.deepEqual(await types(), []);
    await t.turn(second, async () => (await told()).length === 1);
    assert.equal((await told())[0].url, `svc://schedule-runs/${run.id}`);
    await t.turn(hour, async () => true);
    assert.deepEqual(await types(), ['schedule.late']);
  });

  test('late counts from the approval, not from the slot', async () => {
    const schedule = await t.create({ ...byHand, late_after_s: 60, policy: { approval: 'always' } });
    await t.runNow(schedule);
    const [run] = await t.runsOf(schedule);
    await t.turn(hour, async () => true);
    await t.call('POST', `/v1/schedule-runs/${run.id}/decision`, { decision: 'approve' });
    assert.deepEqual(await types(), ['schedule.approval']);
    await t.turn(minute, async () => (await told()).length === 2);
    assert.deepEqual(await types(), ['schedule.approval', 'schedule.late']);
  });

  test('failures: by notify, unless alert_on_fail says yes or no; not while retries are left', async () => {
    const cases: [Json, string[]][] = [
      [{}, ['schedule.failed']],
      [{ notify: 'on_failure' }, ['schedule.failed']],
      [{ notify: 'always' }, ['schedule.failed']],
      [{ notify: 'never' }, []],
      [{ notify: 'on_change' }, ['schedule.failed']],
      [{ notify: 'always', alert_on_fail: false }, []],
      [{ notify: 'on_failure', alert_on_fail: false }, []],
      [{ notify: 'on_change', alert_on_fail: false }, []],
      [{ notify: 'never', alert_on_fail: true }, ['schedule.failed']],
      [{ retries: 1 }, []],
    ];
    for (const [fields, expected] of cases) {
      t = await base.fresh();
      await end(await t.create({ ...byHand, ...fields }), { ok: false, exit_code: 2, error: 'disk full' });
      assert.deepEqual(await types(), expected, JSON.stringify(fields));
      if (expected.length === 1) assert.equal((await told())[0].body, 'disk full, exit code 2');
    }
  });

  test('always: every success; on_change: only output that differs, times and ids aside', async () => {
    const always = await t.create({ ...byHand, notify: 'always' });
    await end(always, { ok: true });
    await end(always, { ok: true });
    assert.deepEqual(await types(), ['schedule.succeeded', 'schedule.succeeded']);
    t = await base.fresh();
    const changing = await t.create({ ...byHand, notify: 'on_change' });
    const output = async (text: string): Promise<number> => {
      await end(changing, { ok: true, log_tail: text });
      return (await told()).length;
    };
    assert.equal(await output('3 files at 2026-11-23 09:00:10, id 0b1e8c1e-5a51-4f3a-9d41-0d5c3a4ef001 in 12ms'), 0);
    assert.equal(await output('3 files at 2026-11-24T10:11:12Z, id 7f1e8c1e-5a51-4f3a-9d41-0d5c3a4ef999 in 3.5 s'), 0);
    assert.equal(await output('4 files at 2026-11-24T10:11:12Z, id 7f1e8c1e-5a51-4f3a-9d41-0d5c3a4ef999 in 3.5 s'), 1);
    assert.deepEqual(await types(), ['schedule.changed']);
    await end(changing, { ok: true, log_tail: 'x', output_hash: `2:${'a'.repeat(64)}` });
    await end(changing, { ok: true, log_tail: 'y', output_hash: `2:${'a'.repeat(64)}` });
    assert.equal((await told()).length, 2);
    // A daemon of a release that normalises in another way: what it says is compared from the second time on.
    await end(changing, { ok: true, log_tail: 'y', output_hash: 'b'.repeat(64) });
    assert.equal((await told()).length, 2);
    await end(changing, { ok: true, log_tail: 'y', output_hash: 'c'.repeat(64) });
    assert.equal((await told()).length, 3);
  });

  test('on_change: the alert says which lines changed', async () => {
    const schedule = await t.create({ ...byHand, notify: 'on_change' });
    await end(schedule, { ok: true, log_tail: 'checked at 09:00:10\nnas up\nprinter up\n' });
    await end(schedule, { ok: true, log_tail: 'checked at 09:05:11\nnas up\nprinter \u001b[31mdown\u001b[0m\n' });
    assert.equal((await told())[0].body, '- printer up\n+ printer down');
    await end(schedule, { ok: true, log_tail: 'nas up\nchecked at 09:10:11\nprinter down\n' });
    assert.match((await told())[0].body, /^nas up\nchecked/);
  });

  test('on_change: what the schedule ignores is no change, from the next run on', async () => {
    const schedule = await t.create({ ...byHand, notify: 'on_change', ignore: ['visitors: #'] });
    const output = async (log_tail: string, output_hash?: string): Promise<number> => {
      await end(schedule, { ok: true, log_tail, ...(output_hash !== undefined && { output_hash }) });
      return (await told()).length;
    };
    assert.equal(await output('up\nvisitors: 5\nload low'), 0);
    assert.equal(await output('up\nvisitors: 1,024\nload low'), 0);
    assert.equal(await output('up\nload high'), 1);
    assert.equal((await told())[0].body, '- load low\n+ load high');
    // Other patterns: the outputs themselves are compared once, of which the hashes say nothing.
    await t.call('PATCH', `/v1/schedules/${schedule.id}`, { ignore: ['load *'] });
    assert.equal(await output('up\nload low'), 1);
    assert.equal(await output('down\nload low'), 2);
    await t.call('PATCH', `/v1/schedules/${schedule.id}`, { ignore: null });
    assert.equal(await output('down\nload high'), 3);
    // Of long outputs nobody knows, until two were made in one way.
    assert.equal(await output('x', `2+${'0'.repeat(16)}:${'a'.repeat(64)}`), 3);
    assert.equal(await output('y', `2+${'0'.repeat(16)}:${'b'.repeat(64)}`), 4);
  });

  test('on_change: a host gets the patterns with the run', async () => {
    const schedule = await t.create({ ...byHand, ignore: ['visitors: #', 'took *'] });
    await t.runNow(schedule);
    assert.deepEqual((await t.claim(newDevice())).ignore, ['visitors: #', 'took *']);
    const plain = await t.create(byHand);
    await t.runNow(plain);
    assert.equal('ignore' in (await t.claim(newDevice())), false);
  });

  test('on_change: a date in an output that passes is no change', async () => {
    const schedule = await t.create({ ...byHand, notify: 'on_change' });
    const ends = new Date(t.clock.now() + 3 * 86_400_000).toISOString().slice(0, 10);
    const text = `certificate ends ${ends}`;
    await end(schedule, { ok: true, log_tail: text });
    t.clock.leap(7 * 86_400_000);
    await end(schedule, { ok: true, log_tail: text });
    assert.equal((await types()).includes('schedule.changed'), false);
  });

  test('on_change: the first failure in a row and the first success after it are changes', async () => {
    const schedule = await t.create({ ...byHand, notify: 'on_change', policy: { pause_after_failures: 0 } });
    for (const ok of [true, false, false, true, true]) await end(schedule, { ok, log_tail: ok ? 'same' : 'broken' });
    assert.deepEqual(
      (await told()).map(({ title }) => title),
      ['backup succeeds again', 'backup failed'],
    );
  });

  test('a step that fails, and its chain with it, are told once; by the chain when the step is muted', async () => {
    for (const [fields, expected] of [
      [{}, 'backup failed'],
      [{ alert_on_fail: false }, 'all of it failed'],
    ] as const) {
      t = await base.fresh();
      const step = await t.create({ ...byHand, ...fields });
      const chain = await t.create({
        trigger: byHand.trigger,
        name: 'all of it',
        kind: 'chain',
        spec: { steps: [{ schedule_id: step.id }] },
      });
      assert.equal(await t.runNow(chain), true);
      await t.turnTo(0, step, 'pending');
      const device = newDevice();
      await t.result(await t.claim(device), device, { ok: false });
      await t.turnTo(second, chain, 'failed');
      assert.deepEqual(
        (await told()).map(({ title }) => title),
        [expected],
      );
    }
  });

  test('the daily budget: one alert a day', async () => {
    const schedule = await t.create({ ...byHand, policy: { budget_micro_usd_per_day: 10 } });
    await end(schedule, { ok: true, cost_micro_usd: 10 });
    for (let i = 0; i < 3; i += 1) assert.equal(await t.runNow(schedule), false);
    assert.deepEqual(await types(), ['schedule.budget']);
    assert.equal((await told())[0].url, `svc://schedules/${schedule.id}`);
    t.clock.leap(24 * hour);
    await end(schedule, { ok: true, cost_micro_usd: 10 });
    assert.equal(await t.runNow(schedule), false);
    assert.deepEqual(await types(), ['schedule.budget', 'schedule.budget']);
  });

  test('a schedule that switched itself off after failures in a row', async () => {
    const schedule = await t.create({ ...byHand, notify: 'never', policy: { pause_after_failures: 2 } });
    await end(schedule, { ok: false });
    await end(schedule, { ok: false });
    assert.deepEqual(await types(), ['schedule.disabled']);
    assert.equal((await t.get(schedule.id)).enabled, false);
  });

  test('a monitor that goes down runs the schedules that wait for it', async () => {
    const schedule = await t.create({ trigger: { type: 'event', trigger_id: 'heartbeat.down' } });
    const monitor = (await t.call('POST', '/v1/heartbeats', { name: 'job', period_s: 60, grace_s: 60 })).body;
    const ping = new URL(monitor.ping_url).pathname;
    assert.equal((await t.call('GET', `${ping}/fail`)).status, 200);
    await t.turnTo(0, schedule, 'pending');
    assert.deepEqual(await types(), ['heartbeat.down']);
  });
});
