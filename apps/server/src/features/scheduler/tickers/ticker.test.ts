import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { testClock } from '../../../kernel/base/clock.ts';
import { createAccount, http, startGateway, testDatabase, until } from '../../../testing.ts';
import { type Json, minute, openScheduler, schedulerTest } from '../scheduler.testing.ts';
import { Scheduler } from '../index.ts';
import { tickSchedules } from './ticker.ts';

/** `SVC_TEST_MINUTES=60` for as many as were shown. */
const minutes = Number(process.env['SVC_TEST_MINUTES'] ?? 8);

describe('scheduler: many tickers', () => {
  test(`eight tickers on two gateways, 1,000 schedules, ${minutes} minutes: exactly ${minutes},000 runs, one for each slot`, {
    timeout: 300_000,
  }, async () => {
    // Five seconds before a full minute.
    await using t = await openScheduler({ start: Date.parse('2026-11-23T08:59:55Z') });
    await using second = await startGateway(t.database, { clock: t.clock });
    const { sql } = t.gateway.kernel;
    for (let made = 0; made < 1_000; made += 50) {
      await Promise.all(Array.from({ length: 50 }, (_, i) => t.create({ name: `${made + i}`, late_after_s: 0 })));
    }
    const tickers = [t.gateway, second].flatMap(({ kernel }) =>
      Array.from({ length: 4 }, () => new Scheduler(kernel).parts),
    );
    const due = async (): Promise<number> => {
      const [row] = await sql<{ due: number }[]>`
        select count(*)::int as due from schedules.schedules where next_run_at <= ${t.clock.instant() as string}`;
      return row?.due ?? 0;
    };
    for (let turn = 0; turn < minutes; turn += 1) {
      t.clock.leap(minute);
      while ((await due()) > 0) await Promise.all(tickers.map((parts) => tickSchedules(parts)));
    }
    const [total] = await sql<Json[]>`
      select count(*)::int as runs, count(distinct schedule_id)::int as schedules, min(n)::int as fewest,
        max(n)::int as most, min(instants)::int as instants
      from (
        select schedule_id, count(*) over (partition by schedule_id) as n, ${minutes}::int as instants from scheduler.runs
      ) each`;
    assert.deepEqual(
      { ...total },
      { runs: 1_000 * minutes, schedules: 1_000, fewest: minutes, most: minutes, instants: minutes },
    );
    const wrong = await sql`
      select 1 from scheduler.runs where scheduled_for <> date_trunc('minute', scheduled_for) limit 1`;
    assert.equal(wrong.length, 0);
  });
});

describe('scheduler: slots that nobody takes', () => {
  test('are late in the schedule, on the first page and in the metric, until a worker takes them', async () => {
    const clock = testClock(Date.parse('2026-11-23T08:59:55Z'));
    await using database = await testDatabase();
    await using gateway = await startGateway(database, { clock, role: { serves: true, works: false, relays: true } });
    const t = schedulerTest(database, gateway, clock, await createAccount(gateway));
    const lag = async () =>
      /^svc_schedule_lag_seconds (\S+)$/m.exec(await gateway.kernel.metrics.registry.metrics())?.[1];
    const made = await t.create();
    const slot = '2026-11-23T09:00:00.000Z';
    assert.deepEqual([made.next_run_at, await lag()], [slot, '0']);
    clock.leap(3 * minute);
    const late = await t.get(made.id);
    assert.deepEqual([late.next_run_at, late.upcoming[0]], [slot, '2026-11-23T09:03:00.000Z']);
    assert.equal(await lag(), '175');
    const { body } = await http(gateway.url, '/v1/overview', { key: t.account.key });
    assert.equal(body.next[0].at, slot);
    await using _worker = await startGateway(database, { clock, role: { serves: false, works: true, relays: false } });
    await until(async () => (await t.runsOf(made)).length > 0);
    assert.deepEqual([(await t.get(made.id)).next_run_at, await lag()], ['2026-11-23T09:03:00.000Z', '0']);
  });
});
