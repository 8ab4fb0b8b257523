import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTest } from '../../testing.ts';
import { testClock } from '../base/clock.ts';
import { takeBudget } from './budgets.ts';

test('a budget refills evenly, lets what is larger than it owe, and is one over all that take at once', async () => {
  const clock = testClock();
  await using t = await openTest({ clock });
  const { sql } = t.gateway.kernel;
  const budget = { name: 'test', most: 10, perMinute: 60 };
  const take = (units?: number, subject = 'a') => takeBudget(sql, clock, budget, subject, units);
  const all = await Promise.all(Array.from({ length: 30 }, () => take()));
  assert.equal(all.filter(Boolean).length, 10);
  assert.equal(await take(1, 'b'), true);
  clock.advance(2_000);
  assert.deepEqual([await take(), await take(), await take()], [true, true, false]);
  clock.advance(1_000);
  assert.deepEqual([await take(21), await take()], [true, false]);
  clock.advance(20_000);
  assert.equal(await take(), false);
  clock.advance(1_000);
  assert.equal(await take(), true);
  clock.advance(3_600_000);
  assert.deepEqual([await take(10), await take()], [true, false]);
});
