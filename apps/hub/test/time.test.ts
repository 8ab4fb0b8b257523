import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cronWords } from '../src/pages/schedules/cron.rules.ts';
import { duration, relativeTime, size } from '../src/ui/time.rules.ts';
import { en } from '../src/words/en.ts';
import { ro } from '../src/words/ro.ts';

test('an instant is told relative to now in the largest unit that fits, in both languages', () => {
  const at = Date.UTC(2026, 10, 27, 12);
  const told = (ms: number, locale: string): string => relativeTime(at + ms, at, locale);
  assert.equal(told(-3_000, 'en'), 'now');
  assert.equal(told(-59_000, 'en'), '59 seconds ago');
  assert.equal(told(-60_000, 'en'), '1 minute ago');
  assert.equal(told(7_200_000, 'en'), 'in 2 hours');
  assert.equal(told(-86_400_000, 'en'), 'yesterday');
  assert.equal(told(-20 * 60_000, 'ro'), 'acum 20 de minute');
});

test('spans and sizes have two units at most', () => {
  assert.deepEqual([850, 59_400, 90_000, 3_600_000, 3_900_000, 172_800_000, 176_400_000].map(duration), [
    '850 ms',
    '59 s',
    '1 min 30 s',
    '1 h',
    '1 h 5 min',
    '2 d',
    '2 d 1 h',
  ]);
  assert.deepEqual([0, 1_023, 1_024, 1_536, 150 * 1_024, 5 * 1_024 ** 3].map(size), [
    '0 B',
    '1023 B',
    '1.0 KiB',
    '1.5 KiB',
    '150 KiB',
    '5.0 GiB',
  ]);
});

test('the commonest cron expressions are told in words, the others as they are', () => {
  const { times } = en.schedules;
  const told = (expr: string): string => cronWords(expr, times, 'en');
  assert.equal(told('0 3 * * *'), 'every day at 3:00');
  assert.equal(told('30 9 * * 1-5'), 'weekdays at 9:30');
  assert.equal(told('0 9 * * 7'), told('0 9 * * 0'));
  assert.equal(cronWords('0 9 * * 1', ro.schedules.times, 'ro'), 'în fiecare luni la 9:00');
  assert.equal(told('*/15 * * * *'), '*/15 * * * *');
});
