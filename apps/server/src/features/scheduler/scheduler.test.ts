import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
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
import { until } from '../../testing.ts';

describe('scheduler: life of a run', () => {
  let t: SchedulerTest;

  const base = shared(() => openScheduler());
  const begin = async (): Promise<void> => {
    t = await base.fresh();
  };
  /** A schedule that only runs by hand. */
  const byHand = { trigger: { type: 'event', trigger_id: 'never' } };

  /** How many processes ended with each attempt, as it is said. */
  const endedOf = async ({ id }: Json) =>
    (await t.call('GET', `/v1/schedule-runs/${id}`)).body.attempts.map((one: Json) => one.ended_processes);

  test('a slot becomes one run, a host claims it, keeps it and ends it; repeating the result answers alike', async () => {
    await begin();
    const schedule = await t.create();
    assert.equal(schedule.next_run_at, schedule.upcoming[0]);
    assert.equal(schedule.upcoming.length, 5);
    const run = await t.turnTo(minute, schedule, 'pending');
    assert.equal(run.scheduled_for, schedule.next_run_at);
    const device = newDevice();
    const claimed = await t.claim(device);
    assert.deepEqual([claimed.id, claimed.attempt, claimed.kind, claimed.spec.prompt], [run.id, 1, 'agent', 'hello']);
    assert.equal(Date.parse(claimed.lease_expires_at), t.clock.now() + minute);
    assert.equal(claimed.timeout_s, 7200);
    assert.equal(await t.claim(newDevice()), null);
    t.clock.advance(10 * second);
    const beat = await t.heartbeat(claimed, device, { log_tail: 'so far' });
    assert.deepEqual([beat.status, beat.body.cancel], [200, false]);
    assert.equal(Date.parse(beat.body.lease_expires_at), t.clock.now() + minute);
    assert.equal((await t.runsOf(schedule))[0].log_tail, 'so far');
    const report = { ok: true, exit_code: 0, log_tail: 'all', cost_micro_usd: 7, session_id: newDevice() };
    const done = (await t.result(claimed, device, report)).body.run;
    assert.deepEqual([done.state, done.device_id, done.cost_micro_usd, done.exit_code], ['succeeded', device, 7, 0]);
    assert.deepEqual([done.log_tail, done.session_id], ['all', report.session_id]);
    const again = await t.result(claimed, device, report);
    assert.deepEqual([again.status, again.body.run], [200, done]);
    assert.ok((await t.get(schedule.id)).last_run_at);
  });

  test('what is not the holder’s is refused: another device, another attempt, a run that is over', async () => {
    await begin();
    const schedule = await t.create(byHand);
    await t.runNow(schedule);
    const device = newDevice();
    const run = await t.claim(device);
    for (const [attempt, from] of [
      [1, newDevice()],
      [2, device],
    ] as const) {
      for (const answer of [
        await t.heartbeat({ id: run.id, attempt }, from),
        await t.result({ id: run.id, attempt }, from, { ok: true }),
      ]) {
        assert.deepEqual([answer.status, answer.body.error.code], [409, 'lease_held']);
      }
    }
    assert.equal((await t.heartbeat(run, device)).status, 200);
    // The header is optional.
    const { status } = await t.call('POST', `/v1/schedule-runs/${run.id}/result`, { attempt: 1, ok: true });
    assert.equal(status, 200);
    assert.equal((await t.heartbeat(run, device)).status, 409);
  });

  test('a lost lease turns into the next attempt for another host; the old attempt is refused; the fourth loss fails', async () => {
    await begin();
    const schedule = await t.create(byHand);
    await t.runNow(schedule);
    for (const attempt of [1, 2, 3, 4]) {
      const device = newDevice();
      const run = await t.claim(device);
      assert.equal(run.attempt, attempt);
      const next = await t.turnTo(minute, schedule, attempt === 4 ? 'failed' : 'pending');
      assert.equal(next.attempt, attempt === 4 ? 4 : attempt + 1);
      assert.equal((await t.heartbeat(run, device)).body.error.code, 'lease_held');
      assert.equal((await t.result(run, device, { ok: true })).body.error.code, 'lease_held');
    }
    assert.equal((await t.runsOf(schedule))[0].error, 'lease_lost');
  });

  test('a failed attempt is retried after its back-off, and its cost adds up', async () => {
    await begin();
    const schedule = await t.create({ ...byHand, retries: 1, retry_backoff_s: 90 });
    await t.runNow(schedule);
    const device = newDevice();
    const first = await t.claim(device);
    const answer = await t.result(first, device, { ok: false, exit_code: 3, cost_micro_usd: 10 });
    assert.deepEqual([answer.body.run.state, answer.body.run.attempt], ['pending', 2]);
    t.clock.advance(89 * second);
    assert.equal(await t.claim(device), null);
    t.clock.advance(second);
    const secondTry = await t.claim(device);
    assert.equal(secondTry.attempt, 2);
    const end = await t.result(secondTry, device, { ok: false, exit_code: 4, error: 'broken', cost_micro_usd: 5 });
    const { state, exit_code, error, cost_micro_usd } = end.body.run;
    assert.deepEqual([state, exit_code, error, cost_micro_usd], ['failed', 4, 'broken', 15]);
  });

  test('over its time: the host says so, or the platform does', async () => {
    await begin();
    const schedule = await t.create({ ...byHand, timeout_s: 100 });
    const device = newDevice();
    const keep = async (run: Json, ms: number): Promise<void> => {
      for (let left = ms; left > 0; left -= 25 * second) {
        t.clock.advance(Math.min(left, 25 * second));
        await t.heartbeat(run, device);
      }
    };
    await t.runNow(schedule);
    const said = await t.claim(device);
    await keep(said, 100 * second);
    assert.equal((await t.result(said, device, { ok: false, error: 'timeout' })).body.run.state, 'timed_out');
    await t.runNow(schedule);
    const silent = await t.claim(device);
    await keep(silent, 100 * second);
    assert.equal((await t.turnTo(15 * second, schedule, 'timed_out')).id, silent.id);
    assert.equal((await t.heartbeat(silent, device)).status, 409);
  });

  test('approval: a run awaits a person on any device, once; after 24 hours it is skipped', async () => {
    await begin();
    const schedule = await t.create({ ...byHand, policy: { approval: 'always' } });
    const decide = (id: string, decision: string) => t.call('POST', `/v1/schedule-runs/${id}/decision`, { decision });
    await t.runNow(schedule);
    const [first] = await t.runsOf(schedule);
    assert.equal(first.state, 'awaiting_approval');
    assert.equal(await t.claim(newDevice()), null);
    assert.equal((await decide(first.id, 'approve')).body.run.state, 'pending');
    const again = await decide(first.id, 'skip');
    assert.deepEqual([again.status, again.body.error.code], [409, 'task_not_confirmable']);
    const device = newDevice();
    await t.result(await t.claim(device), device, { ok: true });
    await t.runNow(schedule);
    const [waiting] = await t.runsOf(schedule);
    assert.equal((await decide(waiting.id, 'skip')).body.run.state, 'skipped');
    await t.runNow(schedule);
    const expired = await t.turnTo(24 * hour, schedule, 'skipped');
    assert.equal(expired.error, 'approval_expired');
    assert.equal((await decide(newDevice(), 'skip')).status, 404);
    assert.equal((await decide(expired.id, 'maybe')).status, 400);
  });

  test('approval outside quiet hours only, in the quiet hours’ own zone', async () => {
    await begin();
    // 09:00 UTC is 11:00 in Bucharest and 18:00 in Tokyo.
    const inQuiet = { approval: 'outside_hours', quiet_hours: { start: '17:00', end: '03:00', tz: 'Asia/Tokyo' } };
    const outside = { approval: 'outside_hours', quiet_hours: { start: '22:00', end: '07:00' } };
    for (const [policy, state] of [
      [inQuiet, 'pending'],
      [outside, 'awaiting_approval'],
    ] as const) {
      const schedule = await t.create({ ...byHand, policy });
      await t.runNow(schedule);
      assert.equal((await t.runsOf(schedule))[0].state, state);
    }
  });

  test('a pending run nobody takes expires after 24 hours', async () => {
    await begin();
    const schedule = await t.create(byHand);
    await t.runNow(schedule);
    assert.equal((await t.turnTo(24 * hour, schedule, 'expired')).attempt, 1);
  });

  test('cancel: a waiting run at once, a running one by its next heartbeat; what is over stays', async () => {
    await begin();
    const schedule = await t.create(byHand);
    const cancel = (id: string) => t.call('POST', `/v1/schedule-runs/${id}/cancel`);
    await t.runNow(schedule);
    const [waiting] = await t.runsOf(schedule);
    assert.equal((await cancel(waiting.id)).body.run.state, 'cancelled');
    assert.equal((await cancel(waiting.id)).body.error.code, 'task_not_confirmable');
    await t.runNow(schedule);
    const device = newDevice();
    const run = await t.claim(device);
    await cancel(run.id);
    const beat = await t.heartbeat(run, device);
    assert.deepEqual([beat.status, beat.body.cancel], [200, true]);
    const gone = (await t.result(run, device, { ok: false, error: 'cancelled', ended_processes: 3 })).body.run;
    assert.deepEqual([gone.state, gone.ended_processes], ['cancelled', 3]);
    assert.equal((await t.call('GET', `/v1/schedule-runs/${run.id}`)).body.ended_processes, 3);
    assert.equal((await t.result(run, newDevice(), { ok: true })).body.error.code, 'lease_held');
  });

  test('what ended with the time of a run is said of it until its next attempt begins, and of each attempt', async () => {
    await begin();
    const schedule = await t.create({ ...byHand, timeout_s: 5, retries: 1, retry_backoff_s: 1 });
    await t.runNow(schedule);
    const device = newDevice();
    const late = { ok: false, error: 'timeout', ended_processes: 2 };
    const first = await t.result(await t.claim(device), device, late);
    assert.deepEqual([first.body.run.state, first.body.run.ended_processes], ['pending', 2]);
    t.clock.leap(2 * second);
    const again = await t.claim(device);
    assert.equal('ended_processes' in (await t.runsOf(schedule))[0], false);
    t.clock.leap(6 * second);
    const last = (await t.result(again, device, late)).body.run;
    assert.deepEqual([last.state, last.ended_processes], ['timed_out', 2]);
    assert.deepEqual(await endedOf(last), [2, 2]);
  });

  test('deleting a schedule cancels its runs and keeps its history', async () => {
    await begin();
    const schedule = await t.create(byHand);
    await t.runNow(schedule);
    const device = newDevice();
    const run = await t.claim(device);
    assert.equal((await t.call('DELETE', `/v1/schedules/${schedule.id}`)).status, 204);
    assert.equal((await t.heartbeat(run, device)).body.cancel, true);
    const { runs } = (await t.call('GET', '/v1/schedule-runs')).body;
    assert.deepEqual(
      runs.map((row: Json) => [row.id, row.state]),
      [[run.id, 'cancelled']],
    );
    assert.equal((await t.call('DELETE', `/v1/schedules/${schedule.id}`)).status, 404);
  });

  test('a budget per run ends it at the heartbeat that goes over', async () => {
    await begin();
    const schedule = await t.create({ ...byHand, retries: 5, policy: { budget_micro_usd_per_run: 100 } });
    await t.runNow(schedule);
    const device = newDevice();
    const run = await t.claim(device);
    assert.equal((await t.heartbeat(run, device, { cost_micro_usd: 100 })).body.cancel, false);
    assert.equal((await t.heartbeat(run, device, { cost_micro_usd: 101 })).body.cancel, true);
    const [ended] = await t.runsOf(schedule);
    assert.deepEqual([ended.state, ended.error, ended.cost_micro_usd], ['failed', 'budget_exceeded', 101]);
    // What ended with it is told later, by its host alone.
    const told = { ok: false, error: 'cancelled', ended_processes: 2 };
    assert.equal((await t.result(run, newDevice(), told)).status, 409);
    assert.deepEqual(await endedOf(run), [undefined]);
    assert.equal((await t.result(run, device, told)).body.run.ended_processes, 2);
    assert.deepEqual(await endedOf(run), [2]);
  });

  test('a budget per day stops further runs of the day, by slot and by hand; the next day they go on', async () => {
    await begin();
    const schedule = await t.create({ ...byHand, policy: { budget_micro_usd_per_day: 100 } });
    const device = newDevice();
    await t.runNow(schedule);
    await t.result(await t.claim(device), device, { ok: true, cost_micro_usd: 100 });
    assert.equal(await t.runNow(schedule), false);
    assert.equal(await t.runNow(schedule), false);
    t.clock.leap(24 * hour);
    assert.equal(await t.runNow(schedule), true);
  });

  test('max_runs_per_hour slides', async () => {
    await begin();
    const schedule = await t.create({ ...byHand, policy: { max_runs_per_hour: 2 } });
    const device = newDevice();
    const once = async (): Promise<boolean> => {
      const queued = await t.runNow(schedule);
      if (queued) await t.result(await t.claim(device), device, { ok: true });
      return queued;
    };
    assert.deepEqual([await once(), await once(), await once()], [true, true, false]);
    t.clock.leap(59 * minute);
    assert.equal(await once(), false);
    t.clock.advance(minute);
    assert.equal(await once(), true);
  });

  test('overlap skip: the slot is kept as a skipped run, a run by hand is not queued', async () => {
    await begin();
    const schedule = await t.create();
    await t.turnTo(minute, schedule, 'pending');
    const skipped = await t.turnTo(minute, schedule, 'skipped');
    assert.equal(skipped.error, 'overlap');
    assert.equal(await t.runNow(schedule), false);
    assert.equal((await t.runsOf(schedule)).length, 2);
  });

  test('a slot that is skipped because a run awaits a person says so', async () => {
    await begin();
    const schedule = await t.create({ policy: { approval: 'always' } });
    await t.turnTo(minute, schedule, 'awaiting_approval');
    const skipped = await t.turnTo(minute, schedule, 'skipped');
    assert.equal(skipped.error, 'overlap: an earlier run waits for approval');
  });

  test('overlap queue holds one, which waits for the one that runs', async () => {
    await begin();
    const schedule = await t.create({ ...byHand, overlap: 'queue' });
    const device = newDevice();
    await t.runNow(schedule);
    const first = await t.claim(device);
    assert.equal(await t.runNow(schedule), true);
    assert.equal(await t.runNow(schedule), false);
    assert.equal(await t.claim(newDevice()), null);
    const waiting = t.claim(device, { wait_s: 20 });
    await t.result(first, device, { ok: true });
    assert.equal((await waiting).attempt, 1);
  });

  test('overlap kill cancels the running one for the next', async () => {
    await begin();
    const schedule = await t.create({ ...byHand, overlap: 'kill' });
    const device = newDevice();
    await t.runNow(schedule);
    const first = await t.claim(device);
    assert.equal(await t.runNow(schedule), true);
    assert.equal((await t.heartbeat(first, device)).body.cancel, true);
    assert.equal(await t.claim(newDevice()), null, 'its process may still live');
    const ended = await t.result(first, device, { ok: false, log_tail: 'so far' });
    assert.deepEqual([ended.status, ended.body.run.state, ended.body.run.log_tail], [200, 'cancelled', 'so far']);
    assert.equal((await t.result(first, device, { ok: false })).status, 200, 'a repeat is answered alike');
    const next = await t.claim(device);
    assert.notEqual(next.id, first.id);
    assert.equal((await t.runsOf(schedule)).length, 2);
  });

  test('the successor of a cancelled run waits for its holder, and no longer than its lease', async () => {
    await begin();
    const schedule = await t.create(byHand);
    const [device, other] = [newDevice(), newDevice()];
    await t.runNow(schedule);
    const run = await t.claim(device);
    await t.call('POST', `/v1/schedule-runs/${run.id}/cancel`);
    assert.equal(await t.runNow(schedule), true);
    for (const wrong of [{ ...run, attempt: 2 }, run]) {
      assert.equal(
        (await t.result(wrong, other, { ok: true })).status,
        409,
        'only its holder says so, for its attempt',
      );
    }
    t.clock.leap(59 * second);
    assert.equal(await t.claim(other), null);
    t.clock.leap(second);
    assert.notEqual((await t.claim(other)).id, run.id);
    assert.equal((await t.result(run, device, { ok: true })).status, 200);
  });

  test('a run over its budget keeps its schedule until its holder says that it ended', async () => {
    await begin();
    const schedule = await t.create({ ...byHand, policy: { budget_micro_usd_per_run: 5 } });
    const device = newDevice();
    await t.runNow(schedule);
    const run = await t.claim(device);
    assert.equal((await t.heartbeat(run, device, { cost_micro_usd: 6 })).body.cancel, true);
    await t.runNow(schedule);
    assert.equal(await t.claim(device), null);
    assert.equal((await t.result(run, device, { ok: false })).body.run.state, 'failed');
    assert.notEqual((await t.claim(device)).id, run.id);
  });

  test('failures in a row switch the schedule off; a success in between starts the count anew', async () => {
    await begin();
    const schedule = await t.create({ ...byHand });
    const device = newDevice();
    const end = async (ok: boolean): Promise<boolean> => {
      await t.runNow(schedule);
      await t.result(await t.claim(device), device, { ok });
      return (await t.get(schedule.id)).enabled;
    };
    assert.deepEqual([await end(false), await end(false), await end(true)], [true, true, true]);
    assert.deepEqual([await end(false), await end(false), await end(false)], [true, true, false]);
    const enabled = await t.call('PATCH', `/v1/schedules/${schedule.id}`, { enabled: true });
    assert.equal(enabled.body.enabled, true);
    assert.deepEqual([await end(false), await end(false), await end(false)], [true, true, false]);
  });

  test('a run of a disabled schedule by hand is queued; a disabled one has no upcoming instants and makes no runs', async () => {
    await begin();
    const schedule = await t.create({ enabled: false });
    assert.deepEqual([schedule.upcoming, schedule.next_run_at], [[], undefined]);
    assert.equal(await t.runNow(schedule), true);
    const other = await t.create();
    await t.turnTo(minute, other, 'pending');
    assert.equal((await t.runsOf(schedule)).length, 1);
  });

  test('a claim that waits is answered at once when a run comes, and with null when none does', async () => {
    await begin();
    const schedule = await t.create(byHand);
    const waiting = t.claim(newDevice(), { wait_s: 25 });
    await until(async () => (await t.call('GET', '/v1/scheduler/hosts')).body.hosts.length === 1);
    await t.runNow(schedule);
    assert.ok((await waiting).id);
    const inVain = t.claim(newDevice(), { wait_s: 1 });
    await until(async () => (await t.call('GET', '/v1/scheduler/hosts')).body.hosts.length === 2);
    const ticking = setInterval(() => t.clock.advance(500), 10);
    assert.equal(await inVain, null);
    clearInterval(ticking);
  });

  test('shell: offered only to a host that approved this very command; an edit clears every approval', async () => {
    await begin();
    const device = newDevice();
    const schedule = await t.create(shell('echo a', byHand));
    await t.runNow(schedule);
    assert.equal(await t.claim(device), null);
    const approve = (hash: string) =>
      t.call('POST', `/v1/schedules/${schedule.id}/approve-command`, { command_hash: hash }, device);
    const wrong = await approve('0'.repeat(64));
    assert.deepEqual([wrong.status, wrong.body.error.code], [409, 'hash_mismatch']);
    assert.deepEqual((await approve(schedule.command_hash)).body, { approved: true, device_id: device });
    assert.equal(await t.claim(newDevice()), null);
    const edited = await t.call('PATCH', `/v1/schedules/${schedule.id}`, { spec: { command: 'echo b', shell: 'sh' } });
    assert.notEqual(edited.body.command_hash, schedule.command_hash);
    assert.deepEqual(edited.body.approvals, []);
    assert.equal(await t.claim(device), null);
    assert.equal((await approve(schedule.command_hash)).status, 409);
    await approve(edited.body.command_hash);
    const run = await t.claim(device);
    assert.deepEqual([run.spec.command, run.command_hash], ['echo b', edited.body.command_hash]);
    const revoked = await t.call('DELETE', `/v1/schedules/${schedule.id}/approve-command`, undefined, device);
    assert.deepEqual(revoked.body, { approved: false, device_id: device });
    assert.deepEqual((await t.get(schedule.id)).approvals, []);
  });
});
