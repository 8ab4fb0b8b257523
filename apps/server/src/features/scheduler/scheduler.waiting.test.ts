import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { shared } from '../../testing.shared.ts';
import { http } from '../../testing.ts';
import { findRun } from './scheduler.sql.ts';
import { waitingFor } from './scheduler.rules.ts';
import { type Json, minute, newDevice, openScheduler, type SchedulerTest, second, shell } from './scheduler.testing.ts';

const byHand = { trigger: { type: 'event', trigger_id: 'never' } };

describe('scheduler: what a pending run waits for', () => {
  let t: SchedulerTest;
  const base = shared(() => openScheduler());
  beforeEach(async () => {
    t = await base.fresh();
  });
  const reasonOf = async (schedule: Json): Promise<string | undefined> => {
    const [listed] = await t.runsOf(schedule);
    const { body } = await t.call('GET', `/v1/schedule-runs/${listed.id}`);
    const own = Object.fromEntries(Object.keys(listed).map((field) => [field, body[field]]));
    const { runs } = (await t.call('GET', `/v1/schedule-runs?schedule_id=${schedule.id}`)).body;
    assert.deepEqual([runs[0], own], [listed, listed], 'the lists and the run by its id say the same');
    return listed.waiting_for;
  };
  const approve = (schedule: Json, device: string) =>
    t.call('POST', `/v1/schedules/${schedule.id}/approve-command`, { command_hash: schedule.command_hash }, device);
  const told = async (): Promise<Json[]> => (await t.call('GET', '/v1/notifications')).body.notifications;

  test('no host, tags, an approval, a paused host, a busy one; a run that goes on waits for nothing', async () => {
    const device = newDevice();
    const schedule = await t.create({ ...byHand, ...shell('true'), target: { type: 'tags', tags: ['gpu'] } });
    await t.runNow(schedule);
    assert.equal(await reasonOf(schedule), 'no_host');
    await t.claim(device, { kinds: ['http'] });
    assert.equal(await reasonOf(schedule), 'no_host', 'no machine that takes commands');
    t.clock.leap(10 * second);
    await t.claim(device, { tags: ['cpu'] });
    assert.equal(await reasonOf(schedule), 'tags');
    await t.claim(device, { tags: ['cpu', 'gpu'] });
    assert.equal(await reasonOf(schedule), 'not_approved');
    const [waiting] = await t.runsOf(schedule);
    assert.deepEqual(waiting.waiting_on, [device]);
    const { attention } = (await t.call('GET', '/v1/overview')).body;
    assert.deepEqual(
      attention.map(({ id, kind, waiting_for: why, actions }: Json) => [id, kind, why, actions[0].path]),
      [[waiting.id, 'run_stuck', 'not_approved', `/machines/${device}`]],
    );
    await approve(schedule, device);
    assert.equal(await reasonOf(schedule), 'host_busy');
    assert.deepEqual((await t.call('GET', '/v1/overview')).body.attention, []);
    const [host] = (await t.call('GET', '/v1/scheduler/hosts')).body.hosts;
    await t.call('PATCH', `/v1/scheduler/hosts/${host.id}`, { paused: true });
    assert.equal(await reasonOf(schedule), 'host_paused');
    t.clock.leap(minute);
    assert.equal(await reasonOf(schedule), 'no_host');
    await t.call('PATCH', `/v1/scheduler/hosts/${host.id}`, { paused: null });
    await t.call('PATCH', `/v1/scheduler/hosts/${host.id}`, { paused: false });
    assert.notEqual(await t.claim(device), null);
    assert.equal(await reasonOf(schedule), undefined);
  });

  test('a retry, an earlier run, the process of a cancelled one, a place in the cloud, an account that may run nothing', async () => {
    const device = newDevice();
    const schedule = await t.create({ ...byHand, overlap: 'queue', retries: 1, retry_backoff_s: 600 });
    await t.runNow(schedule);
    const run = await t.claim(device);
    await t.result(run, device, { ok: false });
    assert.equal(await reasonOf(schedule), 'back_off');
    t.clock.leap(600 * second);
    const again = await t.claim(device);
    await t.runNow(schedule);
    assert.equal(await reasonOf(schedule), 'earlier_run');
    await t.call('POST', `/v1/schedule-runs/${again.id}/cancel`);
    assert.equal(await reasonOf(schedule), 'earlier_run');
    await t.result(again, device, { ok: false });
    assert.equal(await reasonOf(schedule), 'host_busy');
    const row = await findRun(t.gateway.kernel.sql, (await t.runsOf(schedule))[0].id);
    const around = {
      now: t.clock.now(),
      mayRun: true,
      isBlocked: false,
      online: [],
      machines: [],
      approvedBy: undefined,
    };
    const cloud = { ...(row ?? assert.fail()), pool: 'cloud' as const };
    assert.deepEqual(
      [waitingFor(cloud, around), waitingFor(cloud, { ...around, mayRun: false })].map(({ reason }) => reason),
      ['cloud', 'account_paused'],
    );
  });

  test('a target that is away leaves its runs to the first failover set of which a machine is there', async () => {
    const [device, paused] = [newDevice(), newDevice()];
    const schedule = await t.create({
      ...byHand,
      target: { type: 'host', device_id: newDevice() },
      failover: [['a'], ['b'], ['c']],
    });
    await t.runNow(schedule);
    // Neither takes it: one offers another kind of work, the other is paused.
    await t.claim(device, { kinds: ['http'], tags: ['a'] });
    assert.equal(await reasonOf(schedule), 'no_host');
    await t.claim(paused, { kinds: ['http'], tags: ['b'] });
    const { hosts } = (await t.call('GET', '/v1/scheduler/hosts')).body;
    const { id } = hosts.find((host: Json) => host.device_id === paused);
    await t.call('PATCH', `/v1/scheduler/hosts/${id}`, { paused: true });
    t.clock.leap(6 * second);
    assert.equal(await t.claim(paused, { tags: ['b'] }), null);
    assert.equal(await reasonOf(schedule), 'host_paused');
  });

  test('what was approved in the account and not on the machine is handed back, waits, and is told once', async () => {
    const [device, other] = [newDevice(), newDevice()];
    const schedule = await t.create({ ...byHand, ...shell('true') });
    await http(t.gateway.url, '/v1/devices', {
      key: t.account.key,
      headers: { 'x-svc-device': device, 'x-svc-device-name': 'Büro' },
    });
    await approve(schedule, device);
    await t.runNow(schedule);
    const run = await t.claim(device);
    const refused = await t.result(run, device, { ok: false, error: 'x', not_started: 'not_approved' });
    assert.deepEqual(
      [refused.status, refused.body.run.state, refused.body.run.started_at],
      [200, 'pending', undefined],
    );
    assert.equal((await t.result(run, device, { ok: false, not_started: 'not_approved' })).status, 200, 'a repeat');
    assert.equal(await t.claim(device), null);
    assert.equal(await reasonOf(schedule), 'not_approved');
    const [one, ...more] = await told();
    assert.deepEqual([one.type, one.title, more.length], ['schedule.host_approval', 'Büro must approve test', 0]);
    assert.match(one.body, new RegExp(`svc host approve ${schedule.id}`));
    assert.equal((await t.get(schedule.id)).enabled, true);
    // An approval at the machine offers it again, another machine takes it at any time.
    assert.equal((await t.claim(device, { again: true })).id, run.id);
    const [running] = await t.runsOf(schedule);
    await t.result(running, device, { ok: false, not_started: 'not_approved' });
    assert.equal((await told()).length, 1);
    await approve(schedule, device);
    assert.equal((await t.claim(device)).attempt, 3);
    await t.result({ id: run.id, attempt: 3 }, device, { ok: false, not_started: 'not_approved' });
    await approve(schedule, other);
    const taken = await t.claim(other);
    await t.result(taken, other, { ok: true });
    const [ended] = await t.runsOf(schedule);
    assert.deepEqual([ended.state, ended.attempt, ended.waiting_for], ['succeeded', 4, undefined]);
  });

  test('another command is offered to a machine that handed the one before back', async () => {
    const device = newDevice();
    const schedule = await t.create(byHand);
    await t.runNow(schedule);
    await t.result(await t.claim(device), device, { ok: false, not_started: 'not_approved' });
    assert.equal(await t.claim(device), null);
    await t.call('PATCH', `/v1/schedules/${schedule.id}`, { spec: { prompt: 'another' } });
    const run = await t.claim(device);
    await t.result(run, device, { ok: false, not_started: 'not_approved' });
    assert.equal((await told()).length, 2);
    assert.equal((await t.result(run, newDevice(), { ok: false, not_started: 'not_approved' })).status, 409);
  });
});
