import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Json, minute, openScheduler } from '../scheduler.testing.ts';
import { startGateway } from '../../../testing.ts';
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
