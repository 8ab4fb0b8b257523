import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { missedSlots, slotsAfter } from './index.ts';
import { isZone, offsetAt, spanAfter, spanAt } from './zone.ts';

const zones = Intl.supportedValuesOf('timeZone');
const start = Date.UTC(2021, 0, 1);
const end = Date.UTC(2031, 0, 1);
const hour = 3_600_000;
const day = 24 * hour;

interface Change {
  at: number;
  before: number;
  after: number;
}

/** Every change of ten years, found without the search that the package uses: a look at each day, then halving. */
function changesOf(tz: string): Change[] {
  const changes: Change[] = [];
  let before = offsetAt(start, tz);
  for (let instant = start; instant < end; instant += day) {
    const after = offsetAt(instant + day, tz);
    if (after === before) continue;
    let [low, high] = [instant, instant + day];
    while (high - low > 1000) {
      const middle = Math.floor((low + high) / 2000) * 1000;
      if (offsetAt(middle, tz) === before) low = middle;
      else high = middle;
    }
    changes.push({ at: high, before, after });
    before = after;
  }
  return changes;
}

const known = zones.map((tz) => ({ tz, changes: changesOf(tz) }));
const cron = (expr: string, tz: string) => ({ type: 'cron', expr, tz }) as const;

describe('zones', () => {
  test('the spans of every zone are those that its offsets show, for ten years', () => {
    assert.ok(zones.length > 400);
    assert.ok(known.flatMap(({ changes }) => changes).length > 2000);
    for (const { tz, changes } of known) {
      let span = spanAt(start, tz);
      for (const { at, before, after } of changes) {
        assert.deepEqual([span.to, span.offset], [at, before], tz);
        assert.deepEqual(spanAt(at - 1, tz), span, tz);
        span = spanAfter(span, tz);
        assert.deepEqual([span.from, span.before, span.offset], [at, before, after], tz);
        assert.deepEqual(spanAt(at, tz), span, tz);
      }
      assert.ok(span.to >= end, tz);
    }
  });

  test('the offsets around every change are those of Intl', () => {
    for (const { tz, changes } of known) {
      const format = new Intl.DateTimeFormat('en-US', { timeZone: tz, timeZoneName: 'longOffset' });
      for (const { at } of changes) {
        for (const instant of [at - 1000, at]) {
          const text = format.formatToParts(instant).find((part) => part.type === 'timeZoneName')?.value ?? '';
          const [, sign, hours, minutes] = /GMT(?:([+-])(\d\d):(\d\d))?/.exec(text) ?? [];
          const shown = (sign === '-' ? -1 : 1) * (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * 60_000;
          assert.equal(offsetAt(instant, tz), shown, `${tz} ${instant}`);
        }
      }
    }
  });

  test('a fixed time runs exactly once for every day, a day of a change included', () => {
    let moved = 0;
    const check = (tz: string, changes: Change[], time: string, from: number, days: number): void => {
      const [minutes = 0, hours = 0] = time.split(' ').map(Number);
      const first = Math.floor((from + offsetAt(from, tz)) / day) + 1;
      const slots = slotsAfter(cron(`${time} * * *`, tz), { anchor: 0, after: from, limit: days + 1 });
      const local = (slot: number): number => slot + offsetAt(slot, tz);
      // The time may still come on the day of `from`.
      if (Math.floor(local(slots[0] ?? 0) / day) < first) slots.shift();
      slots.slice(0, days).forEach((slot, i) => {
        const nominal = (first + i) * day + (hours * 60 + minutes) * 60_000;
        if (local(slot) === nominal) {
          const overlap = changes.find(
            (change) => change.at <= slot && slot < change.at + change.before - change.after,
          );
          assert.equal(overlap, undefined, `${tz} ${time}: the first of two is taken`);
          return;
        }
        const gap = changes.find((change) => change.at === slot);
        assert.ok(gap && nominal >= slot + gap.before && nominal < slot + gap.after, `${tz} ${time} ${slot}`);
        moved += 1;
      });
      assert.ok(slots.length >= days, `${tz} ${time}`);
    };
    for (const { tz, changes } of known) {
      check(tz, changes, '30 2', start, 3650);
      for (const { at } of changes) {
        for (const time of ['0 0', '30 0', '59 1', '0 2', '0 3', '30 3', '15 22', '30 23']) {
          check(tz, changes, time, at - 4 * day, 7);
        }
      }
    }
    assert.ok(moved > 1000, `${moved} times fell into a gap`);
  });

  test('expressions with a wildcard run at every instant that shows their time, in rising order, both ways', () => {
    for (const { tz, changes } of known) {
      for (const { at, before, after } of changes) {
        const [from, to] = [at - 6 * hour, at + 6 * hour];
        const shown = (every: number): number[] => {
          const slots = [];
          for (let slot = from + 60_000; slot <= to; slot += 60_000) {
            if ((slot + (slot < at ? before : after)) % every === 0) slots.push(slot);
          }
          return slots;
        };
        for (const [expr, every] of [
          ['*/30 * * * *', hour / 2],
          ['0 * * * *', hour],
        ] as const) {
          const options = { anchor: 0, limit: 100 };
          assert.deepEqual(slotsAfter(cron(expr, tz), { ...options, after: from, until: to }), shown(every), tz);
          assert.deepEqual(missedSlots(cron(expr, tz), { ...options, from, to }), shown(every), tz);
        }
      }
    }
  });

  test('a zone is a name that is known; offsets and nonsense are not', () => {
    for (const tz of [...zones, 'UTC', 'Etc/GMT+3', 'europe/bucharest']) assert.ok(isZone(tz), tz);
    for (const tz of ['', '+02:00', '-0300', 'Z+2', 'Mars/Olympus', 'Europe/Bucharest ', '../UTC', 'Europe\n', '\0']) {
      assert.ok(!isZone(tz), tz);
    }
  });
});
