import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { shared } from '../../testing.shared.ts';
import {
  hour,
  type Json,
  minute,
  newDevice,
  openScheduler,
  type SchedulerTest,
  second,
  shell,
} from './scheduler.testing.ts';
import { createAccount } from '../../testing.ts';

describe('scheduler: hosts and targets', () => {
  let t: SchedulerTest;

  const base = shared(() => openScheduler());
  beforeEach(async () => {
    t = await base.fresh();
  });
  const byHand = { trigger: { type: 'event', trigger_id: 'never' } };
  const hosts = async (): Promise<Json[]> => (await t.call('GET', '/v1/scheduler/hosts')).body.hosts;

  test('a host target goes to that host only, tags to a host that has them all, any to whoever asks', async () => {
    const [one, two] = [newDevice(), newDevice()];
    await t.runNow(await t.create({ ...byHand, name: 'host', target: { type: 'host', device_id: one } }));
    await t.runNow(await t.create({ ...byHand, name: 'tags', target: { type: 'tags', tags: ['gpu', 'linux'] } }));
    await t.runNow(await t.create({ ...byHand, name: 'any', target: { type: 'any' } }));
    assert.equal((await t.claim(two, { tags: ['linux'] })).name, 'any');
    assert.equal(await t.claim(two, { tags: ['linux'] }), null);
    assert.equal((await t.claim(two, { tags: ['linux', 'gpu', 'x'] })).name, 'tags');
    assert.equal(await t.claim(two, { tags: ['linux', 'gpu', 'x'] }), null);
    assert.equal((await t.claim(one)).name, 'host');
  });

  test('a host takes only the kinds it names', async () => {
    await t.runNow(await t.create(byHand));
    const device = newDevice();
    assert.equal(await t.claim(device, { kinds: ['shell', 'http'] }), null);
    assert.ok(await t.claim(device, { kinds: ['agent'] }));
  });

  test('failover: sets are tried in order, each once its predecessors were not seen for 45 s', async () => {
    const [main, first, second_] = [newDevice(), newDevice(), newDevice()];
    const schedule = await t.create({
      ...byHand,
      target: { type: 'host', device_id: main },
      failover: [['first'], ['second']],
    });
    const asFirst = { tags: ['first'] };
    const asSecond = { tags: ['second'] };
    await t.claim(main);
    await t.claim(first, asFirst);
    await t.claim(second_, asSecond);
    await t.runNow(schedule);
    assert.equal(await t.claim(first, asFirst), null);
    t.clock.leap(30 * second);
    await t.claim(first, asFirst);
    t.clock.leap(15 * second);
    // The main host was last seen 45 s ago, the first set 15 s ago.
    assert.equal(await t.claim(second_, asSecond), null);
    assert.ok(await t.claim(first, asFirst));
  });

  test('failover reaches the second set when nobody of the first is there', async () => {
    const schedule = await t.create({
      ...byHand,
      target: { type: 'tags', tags: ['main'] },
      failover: [['first'], ['second']],
    });
    await t.runNow(schedule);
    assert.equal(await t.claim(newDevice(), { tags: ['third'] }), null);
    assert.ok(await t.claim(newDevice(), { tags: ['second', 'other'] }));
  });

  test('hosts are listed with what they said; a person’s name, tags, pause and limit win', async () => {
    const device = newDevice();
    const schedules = [await t.create(byHand), await t.create(byHand), await t.create(byHand)];
    for (const schedule of schedules) await t.runNow(schedule);
    await t.claim(device, { kinds: ['agent'], tags: ['b', 'a', 'b'] });
    const [host] = await hosts();
    const { id, last_seen, ...rest } = host;
    assert.deepEqual(rest, {
      device_id: device,
      name: 'Unnamed device',
      platform: '',
      tags: ['a', 'b'],
      kinds: ['agent'],
      online: true,
      paused: false,
      running: 1,
    });
    assert.equal(Date.parse(last_seen), t.clock.now());
    const patch = (body: Json) => t.call('PATCH', `/v1/scheduler/hosts/${id}`, body);
    const limited = await patch({ name: 'box', tags: ['mine'], max_parallel: 1 });
    assert.deepEqual([limited.body.name, limited.body.tags, limited.body.max_parallel], ['box', ['mine'], 1]);
    assert.equal(await t.claim(device, { tags: ['a'] }), null);
    assert.deepEqual((await hosts())[0].tags, ['mine']);
    await patch({ max_parallel: 2 });
    assert.ok(await t.claim(device));
    assert.equal(await t.claim(device), null);
    await patch({ max_parallel: null, paused: true });
    assert.equal(await t.claim(device), null);
    await patch({ paused: false });
    assert.ok(await t.claim(device));
    t.clock.leap(46 * second);
    assert.equal((await hosts())[0].online, false);
    assert.equal((await patch({})).status, 400);
    assert.equal((await patch({ max_parallel: 0 })).status, 400);
    assert.equal((await t.call('PATCH', `/v1/scheduler/hosts/${newDevice()}`, { paused: true })).status, 404);
  });

  test('a claim needs a device, in the header or in the body', async () => {
    const claim = (body: Json) => t.call('POST', '/v1/scheduler/claim', body);
    const refused = await claim({});
    assert.deepEqual([refused.status, Object.keys(refused.body.error.details.fieldErrors)], [400, ['device_id']]);
    assert.deepEqual((await claim({ device_id: newDevice() })).body, { run: null });
    for (const body of [{ wait_s: 26 }, { wait_s: -1 }, { kinds: ['chain'] }, { tags: 'x' }, { device_id: 'x' }]) {
      assert.equal((await claim(body)).status, 400, JSON.stringify(body));
    }
  });

  test('what belongs to another account is not found, claimed or listed', async () => {
    const schedule = await t.create(byHand);
    await t.runNow(schedule);
    const other = await createAccount(t.gateway);
    const stranger = await t.fresh();
    assert.ok(other.id);
    const device = newDevice();
    assert.equal(await stranger.claim(device), null);
    const run = await t.claim(device);
    for (const answer of [
      await stranger.heartbeat(run, device),
      await stranger.result(run, device, { ok: true }),
      await stranger.call('POST', `/v1/schedule-runs/${run.id}/decision`, { decision: 'skip' }),
      await stranger.call('GET', `/v1/schedules/${schedule.id}`),
      await stranger.call('PATCH', `/v1/schedules/${schedule.id}`, { name: 'x' }),
      await stranger.call('DELETE', `/v1/schedules/${schedule.id}`),
      await stranger.call('POST', `/v1/schedules/${schedule.id}/run`),
      await stranger.call('GET', `/v1/schedules/${schedule.id}/runs`),
    ]) {
      assert.deepEqual([answer.status, answer.body.error.code], [404, 'not_found']);
    }
    assert.deepEqual((await stranger.call('GET', '/v1/schedule-runs')).body, { runs: [] });
  });

  test('fifty claimers at once never take one run twice, and miss none', async () => {
    const schedules = await Promise.all(Array.from({ length: 60 }, () => t.create(byHand)));
    await Promise.all(schedules.map((schedule) => t.runNow(schedule)));
    const taken: string[] = [];
    await Promise.all(
      Array.from({ length: 50 }, async () => {
        const device = newDevice();
        for (let run = await t.claim(device); run !== null; run = await t.claim(device)) taken.push(run.id);
      }),
    );
    assert.equal(new Set(taken).size, taken.length);
    assert.equal(taken.length, 60);
  });

  test('event triggers: one call runs every enabled schedule that waits for it', async () => {
    const fire = (id: string) => t.call('POST', `/v1/triggers/${id}/fire`);
    const waits = { trigger: { type: 'event', trigger_id: 'deploy.done' } };
    const one = await t.create(waits);
    const two = await t.create({ ...waits, enabled: false });
    const fired = await fire('deploy.done');
    assert.deepEqual([fired.status, fired.body], [202, { queued: 1 }]);
    assert.deepEqual((await fire('other')).body, { queued: 0 });
    assert.deepEqual([(await t.runsOf(one)).length, (await t.runsOf(two)).length], [1, 0]);
    await t.call('POST', '/v1/schedules/pause', {});
    assert.deepEqual((await fire('deploy.done')).body, { queued: 0 });
  });

  test('after triggers run on success, failure or always; cycles and unknown schedules are refused', async () => {
    const first = await t.create(byHand);
    const on = (outcome: string) =>
      t.create({ name: outcome, trigger: { type: 'after', schedule_id: first.id, on: outcome }, overlap: 'queue' });
    const followers = [await on('success'), await on('failure'), await on('always')];
    const device = newDevice();
    const end = async (ok: boolean): Promise<string[]> => {
      await t.runNow(first);
      await t.result(await t.claim(device), device, { ok });
      const names: string[] = [];
      for (let run = await t.claim(device); run !== null; run = await t.claim(device)) {
        names.push(run.name);
        await t.result(run, device, { ok: true });
      }
      return names.sort();
    };
    assert.deepEqual(await end(true), ['always', 'success']);
    assert.deepEqual(await end(false), ['always', 'failure']);
    const patch = (id: string, scheduleId: string) =>
      t.call('PATCH', `/v1/schedules/${id}`, { trigger: { type: 'after', schedule_id: scheduleId } });
    for (const answer of [
      await patch(first.id, first.id),
      await patch(first.id, followers[0].id),
      await patch(first.id, newDevice()),
    ]) {
      assert.deepEqual(
        [answer.status, Object.keys(answer.body.error.details.fieldErrors)],
        [400, ['trigger.schedule_id']],
      );
    }
  });

  test('a chain runs its steps in order in the cloud and ends as they did', async () => {
    const steps = await Promise.all(['a', 'b', 'c'].map((name) => t.create({ ...byHand, name })));
    const chain = await t.create({
      ...byHand,
      kind: 'chain',
      spec: { steps: steps.map((step) => ({ schedule_id: step.id })) },
    });
    const device = newDevice();
    const next = async (): Promise<Json> => {
      let run: Json = null;
      await t.turn(0, async () => {
        run = await t.claim(device);
        return run !== null;
      });
      return run;
    };
    assert.equal(await t.runNow(chain), true);
    for (const name of ['a', 'b', 'c']) {
      const run = await next();
      assert.equal(run.name, name);
      assert.equal((await t.runsOf(chain))[0].state, 'running');
      await t.result(run, device, { ok: true });
    }
    await t.turnTo(0, chain, 'succeeded');
    await t.runNow(chain);
    await t.result(await next(), device, { ok: false });
    const failed = await t.turnTo(0, chain, 'failed');
    assert.equal(failed.error, 'step 1 failed');
    assert.equal((await t.runsOf(steps[1])).length, 1);
  });

  test('a chain that does not stop on failure, and steps that run always', async () => {
    const [a, b, c] = await Promise.all(['a', 'b', 'c'].map((name) => t.create({ ...byHand, name })));
    const device = newDevice();
    const order = async (spec: Json, fails: string): Promise<{ names: string[]; error: string }> => {
      const chain = await t.create({ ...byHand, kind: 'chain', spec });
      await t.runNow(chain);
      const names: string[] = [];
      let error = '';
      await t.turn(0, async () => {
        const run = await t.claim(device);
        if (run) {
          names.push(run.name);
          await t.result(run, device, { ok: run.name !== fails });
        }
        const [top] = await t.runsOf(chain);
        error = top.error;
        return top.state === 'failed';
      });
      return { names, error };
    };
    const plain = [a, b, c].map((step) => ({ schedule_id: step.id }));
    assert.deepEqual(await order({ steps: plain, stop_on_failure: false }, 'a'), {
      names: ['a', 'b', 'c'],
      error: 'step 1 failed',
    });
    const cleanup = [plain[0], plain[1], { ...plain[2], on: 'always' }];
    assert.deepEqual(await order({ steps: cleanup }, 'a'), { names: ['a', 'c'], error: 'step 1 failed' });
  });

  test('cancelling a chain cancels its step; a deleted step fails it; a chain in a circle is refused', async () => {
    const step = await t.create({ ...byHand, name: 'step' });
    const spec = { steps: [{ schedule_id: step.id }] };
    const chain = await t.create({ ...byHand, kind: 'chain', spec });
    await t.runNow(chain);
    await t.turnTo(0, step, 'pending');
    const [running] = await t.runsOf(chain);
    await t.call('POST', `/v1/schedule-runs/${running.id}/cancel`);
    await t.turnTo(0, step, 'cancelled');
    const circle = await t.call('PATCH', `/v1/schedules/${step.id}`, {
      kind: 'chain',
      spec: { steps: [{ schedule_id: chain.id }] },
    });
    assert.deepEqual([circle.status, Object.keys(circle.body.error.details.fieldErrors)], [400, ['spec.steps']]);
    const after_ = await t.call('PATCH', `/v1/schedules/${chain.id}`, {
      trigger: { type: 'after', schedule_id: step.id },
    });
    assert.equal(after_.status, 400);
    await t.call('DELETE', `/v1/schedules/${step.id}`);
    await t.runNow(chain);
    assert.equal((await t.turnTo(0, chain, 'failed')).error, 'step 1: its schedule is gone');
  });

  test('a chain is bounded by its own timeout', async () => {
    const step = await t.create({ ...byHand, name: 'step', late_after_s: 0 });
    const chain = await t.create({
      ...byHand,
      kind: 'chain',
      timeout_s: 60,
      spec: { steps: [{ schedule_id: step.id }] },
    });
    await t.runNow(chain);
    await t.turnTo(0, step, 'pending');
    await t.turnTo(2 * minute, chain, 'timed_out');
    await t.turnTo(0, step, 'cancelled');
  });

  test('what needs a backend of the cloud that is not there fails with what to do', async () => {
    const schedule = await t.create({ ...byHand, target: { type: 'cloud' } });
    await t.runNow(schedule);
    const run = await t.turnTo(0, schedule, 'failed');
    assert.match(run.error, /no model provider is set up.*svc providers add/);
    assert.equal(run.device_id, undefined);
  });

  test('a machine that is deleted is gone with its approvals, and back when it claims again', async () => {
    const device = newDevice();
    await t.claim(device);
    const [{ id }] = await hosts();
    const schedule = await t.create(shell('true'));
    await t.call(
      'POST',
      `/v1/schedules/${schedule.id}/approve-command`,
      { command_hash: schedule.command_hash },
      device,
    );
    const other = await base.fresh();
    assert.equal((await other.call('DELETE', `/v1/scheduler/hosts/${id}`)).status, 404);
    assert.deepEqual((await t.call('DELETE', `/v1/scheduler/hosts/${id}`)).body, { deleted: true, id });
    assert.equal((await t.call('DELETE', `/v1/scheduler/hosts/${id}`)).status, 404);
    assert.deepEqual(await hosts(), []);
    assert.deepEqual((await t.get(schedule.id)).approvals, []);
    await t.claim(device);
    assert.equal((await hosts()).length, 1);
  });

  test('runs that are over are kept for SVC_RUN_DAYS', async () => {
    await using short = await openScheduler({ settings: { SVC_RUN_DAYS: '10' } });
    const schedule = await short.create({ trigger: { type: 'event', trigger_id: 'never' } });
    const device = newDevice();
    for (const _ of [1, 2]) {
      await short.runNow(schedule);
      await short.result(await short.claim(device), device, { ok: true });
      short.clock.leap(6 * 24 * hour);
    }
    await short.gateway.app.jobs.find(({ name }) => name === 'scheduler.sweep')?.run(short.gateway.kernel);
    assert.equal((await short.runsOf(schedule)).length, 1);
  });
});
