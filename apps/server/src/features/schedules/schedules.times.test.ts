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
} from '../scheduler/scheduler.testing.ts';

describe('schedules: when they are due', () => {
  let t: SchedulerTest;

  const base = shared(() => openScheduler());
  beforeEach(async () => {
    t = await base.fresh();
  });
  const at = (ms: number): string => new Date(t.clock.now() + ms).toISOString();
  const count = async (schedule: Json): Promise<number> => (await t.runsOf(schedule)).length;

  test('at: once, at its instant; up to 60 s past at once; older is refused', async () => {
    const schedule = await t.create({ trigger: { type: 'at', at: at(90 * second) } });
    assert.equal(schedule.upcoming.length, 1);
    await t.turnTo(90 * second, schedule, 'pending');
    assert.deepEqual((await t.get(schedule.id)).upcoming, []);
    const past = await t.create({ trigger: { type: 'at', at: at(-59 * second) } });
    await t.turnTo(0, past, 'pending');
    const old = await t.call('POST', '/v1/schedules', {
      name: 'x',
      kind: 'agent',
      spec: { prompt: 'x' },
      trigger: { type: 'at', at: at(-61 * second) },
    });
    assert.deepEqual([old.status, Object.keys(old.body.error.details.fieldErrors)], [400, ['trigger.at']]);
  });

  test('interval: anchored at creation, whatever the clock says', async () => {
    const schedule = await t.create({ trigger: { type: 'interval', every_s: 90 } });
    assert.deepEqual(
      schedule.upcoming,
      [90, 180, 270, 360, 450].map((s) => at(s * second)),
    );
    const first = await t.turnTo(100 * second, schedule, 'pending');
    assert.equal(first.scheduled_for, schedule.upcoming[0]);
    assert.equal((await t.get(schedule.id)).upcoming[0], schedule.upcoming[1]);
  });

  test('cron in a zone, with seconds, and skipped days out of upcoming', async () => {
    const seconds = await t.create({ trigger: { type: 'cron', expr: '*/20 * * * * *', tz: 'UTC' } });
    assert.equal(Date.parse(seconds.upcoming[1]) - Date.parse(seconds.upcoming[0]), 20 * second);
    // Monday 30 November and Tuesday 1 December 2026 are public holidays in Romania.
    const schedule = await t.create({
      trigger: { type: 'cron', expr: '0 9 * * *' },
      policy: { skip_days: { holidays: 'RO', weekdays: ['sat', 7], dates: ['2026-11-25', '12-03'] } },
    });
    const days = schedule.upcoming.map((instant: string) => instant.slice(0, 10));
    assert.deepEqual(days, ['2026-11-24', '2026-11-26', '2026-11-27', '2026-12-02', '2026-12-04']);
  });

  test('misfire once: one catch-up for any number of missed slots; skip: none; all_within: those in the window', async () => {
    const every = { trigger: { type: 'interval', every_s: 600 } };
    const once = await t.create(every);
    const skip = await t.create({ ...every, misfire: 'skip' });
    const all = await t.create({ ...every, misfire: 'all_within', misfire_window_min: 35 });
    // Five slots are missed; the last one is 100 s late.
    await t.turn(3_100 * second, async () => (await count(once)) > 0 && (await count(all)) > 0);
    assert.deepEqual([await count(once), await count(skip), await count(all)], [1, 0, 4]);
    assert.equal((await t.runsOf(once))[0].scheduled_for, at(-100 * second));
    assert.ok((await t.runsOf(all)).every((run) => run.state === 'pending'));
    // The catch-ups run one after the other.
    const device = newDevice();
    let taken = 0;
    for (let run = await t.claim(device); run !== null; run = await t.claim(device)) {
      taken += 1;
      await t.result(run, device, { ok: true });
    }
    assert.equal(taken, 5);
    await t.turn(600 * second, async () => (await count(skip)) === 0 && (await count(once)) === 2);
  });

  test('a slot up to 60 s late is on time, also under misfire skip', async () => {
    const schedule = await t.create({ misfire: 'skip', trigger: { type: 'interval', every_s: 600 } });
    await t.turnTo(660 * second, schedule, 'pending');
  });

  test('paused: no slots, nothing by hand; resume with backfill: one catch-up each, whatever the misfire rule', async () => {
    const every = await t.create({ misfire: 'skip' });
    const rarely = await t.create({ trigger: { type: 'interval', every_s: 86_400 } });
    const waiting = await t.create({ name: 'waits', trigger: { type: 'event', trigger_id: 'x' } });
    await t.runNow(waiting);
    const paused = await t.call('POST', '/v1/schedules/pause', {});
    assert.deepEqual(paused.body, { paused: true, resume_policy: 'skip' });
    assert.equal((await t.call('GET', '/v1/schedules')).body.pause.paused, true);
    assert.equal(await t.runNow(every), false);
    await t.turn(10 * minute, async () => Date.parse((await t.get(every.id)).next_run_at) > t.clock.now());
    assert.equal(await count(every), 0);
    // A run that waited before the pause may still be taken.
    assert.equal((await t.claim(newDevice())).name, 'waits');
    const resumed = await t.call('POST', '/v1/schedules/resume', { backfill: true });
    assert.deepEqual(resumed.body, { paused: false, backfilled: 1 });
    assert.deepEqual([await count(every), await count(rarely)], [1, 0]);
    assert.deepEqual((await t.call('POST', '/v1/schedules/resume', { backfill: true })).body.backfilled, 0);
  });

  test('a pause until an instant ends by itself, as its policy says', async () => {
    for (const [policy, expected] of [
      ['skip', 0],
      ['backfill', 1],
    ] as const) {
      const schedule = await t.create({ trigger: { type: 'interval', every_s: 120 } });
      await t.call('POST', '/v1/schedules/pause', { until: at(5 * minute), resume_policy: policy });
      await t.turn(5 * minute + 20 * second, async () => !(await isPausedRow(t)));
      assert.equal(await count(schedule), expected, policy);
      assert.equal((await t.call('GET', '/v1/schedules')).body.pause.paused, false);
      const before_ = expected;
      await t.turn(2 * minute, async () => (await count(schedule)) === before_ + 1);
      await t.call('DELETE', `/v1/schedules/${schedule.id}`);
    }
  });

  test('resume without a word follows the pause’s policy; a pause in the past is refused', async () => {
    const schedule = await t.create();
    await t.call('POST', '/v1/schedules/pause', { resume_policy: 'backfill' });
    t.clock.leap(hour);
    assert.equal((await t.call('POST', '/v1/schedules/resume', {})).body.backfilled, 1);
    assert.equal(await count(schedule), 1);
    const refused = await t.call('POST', '/v1/schedules/pause', { until: at(-second) });
    assert.deepEqual([refused.status, Object.keys(refused.body.error.details.fieldErrors)], [400, ['until']]);
  });

  test('a run by hand on a skipped day is not queued', async () => {
    const schedule = await t.create({ policy: { skip_days: { weekdays: [1, 2, 3, 4, 5, 6] } } });
    const today = new Date(t.clock.now()).getUTCDay();
    assert.equal(await t.runNow(schedule), today === 0);
  });

  test('an edit of trigger or policy moves the slots; enabling again starts from now', async () => {
    const schedule = await t.create();
    const patch = async (body: Json): Promise<Json> =>
      (await t.call('PATCH', `/v1/schedules/${schedule.id}`, body)).body;
    const moved = await patch({ trigger: { type: 'interval', every_s: 3600 } });
    assert.equal(moved.next_run_at, at(hour));
    assert.equal((await patch({ enabled: false })).next_run_at, undefined);
    t.clock.leap(2 * hour + minute);
    const again = await patch({ enabled: true });
    // Still anchored where the trigger was set.
    assert.equal(again.next_run_at, at(59 * minute));
    assert.equal(await count(schedule), 0);
  });
});

/** The row of a pause outlives its instant until a ticker ends it. */
async function isPausedRow(t: SchedulerTest): Promise<boolean> {
  const rows = await t.gateway.kernel.sql`select 1 from schedules.pauses where account_id = ${t.account.id}`;
  return rows.length > 0;
}
