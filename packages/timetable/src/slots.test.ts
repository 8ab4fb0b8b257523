import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { cronError, isSkippedDay, missedSlots, slotsAfter, type TimedTrigger } from './index.ts';

const hour = 3_600_000;
const day = 24 * hour;
const at = (text: string): number => Date.parse(text);
const bucharest = (expr: string) => ({ type: 'cron', expr, tz: 'Europe/Bucharest' }) as const;
const shown = (slots: readonly number[]): string[] => slots.map((slot) => new Date(slot).toISOString().slice(0, 16));
const everyDay = { weekdays: [1, 2, 3, 4, 5, 6, 7] };

const value = (low: number, high: number) => fc.integer({ min: low, max: high }).map(String);
const field = (low: number, high: number) =>
  fc.oneof(
    fc.constant('*'),
    value(low, high),
    fc.tuple(value(low, high), value(low, high)).map((values) => values.join(',')),
    fc.integer({ min: 1, max: high - low }).map((step) => `*/${step}`),
  );
const expressions = fc
  .tuple(
    fc.constantFrom('', '0 ', '*/20 ', '* '),
    field(0, 59),
    field(0, 23),
    fc.oneof(fc.constant('*'), fc.constant('L'), field(1, 31)),
    field(1, 12),
    fc.oneof(fc.constant('*'), fc.constant('1#1'), field(0, 7)),
  )
  .map(([seconds, ...fields]) => seconds + fields.join(' '))
  .filter((expr) => cronError(expr) === undefined);
const instants = fc.integer({ min: at('2020-01-01'), max: at('2035-01-01') });
const zones = fc.constantFrom('Europe/Bucharest', 'UTC', 'Australia/Lord_Howe', 'America/Nuuk', 'Africa/Casablanca');
const triggers: fc.Arbitrary<TimedTrigger> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant('cron' as const), expr: expressions, tz: zones }) },
  fc.record({
    type: fc.constant('interval' as const),
    every_s: fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: 5_000_000 })),
  }),
  fc.record({ type: fc.constant('at' as const), at: instants.map((instant) => new Date(instant).toISOString()) }),
);
const skips = fc.record({
  holidays: fc.constantFrom(undefined, 'RO' as const),
  weekdays: fc.uniqueArray(fc.integer({ min: 1, max: 7 }), { maxLength: 6 }),
  dates: fc.constantFrom([], ['12-24', '2027-03-01']),
});
/** Instants close to each other and to a change of the clock, or anywhere. */
const starts = fc.oneof(
  instants,
  fc
    .tuple(fc.constantFrom('2026-03-29T01:00Z', '2026-10-25T01:00Z', '2026-04-04T15:00Z'), fc.nat(2 * day))
    .map(([text, ms]) => at(text) - day + ms),
);

describe('slots', () => {
  test('a fixed time inside the gap runs once at its end, one in the overlap runs once, the first time', () => {
    const options = { anchor: 0, limit: 3 };
    assert.deepEqual(shown(slotsAfter(bucharest('30 3 * * *'), { ...options, after: at('2026-03-28T00:00Z') })), [
      '2026-03-28T01:30',
      '2026-03-29T01:00',
      '2026-03-30T00:30',
    ]);
    assert.deepEqual(shown(slotsAfter(bucharest('0,30 3,4 * * *'), { ...options, after: at('2026-03-29T00:00Z') })), [
      '2026-03-29T01:00',
      '2026-03-29T01:30',
      '2026-03-30T00:00',
    ]);
    assert.deepEqual(shown(slotsAfter(bucharest('30 3 * * *'), { ...options, after: at('2026-10-24T12:00Z') })), [
      '2026-10-25T00:30',
      '2026-10-26T01:30',
      '2026-10-27T01:30',
    ]);
  });

  test('a gap that ends at midnight moves a slot into the next day', () => {
    const trigger = { type: 'cron', expr: '30 23 * * *', tz: 'America/Nuuk' } as const;
    assert.deepEqual(shown(slotsAfter(trigger, { anchor: 0, limit: 3, after: at('2026-03-28T03:00Z') })), [
      '2026-03-29T01:00',
      '2026-03-30T00:30',
      '2026-03-31T00:30',
    ]);
  });

  test('a star in minute or hour means real instants: none in the gap, twice in the overlap', () => {
    const trigger = bucharest('*/30 3 * * *');
    const options = { anchor: 0, limit: 100 };
    const on = (date: string) =>
      shown(slotsAfter(trigger, { ...options, after: at(`${date}T00:00+02:00`), until: at(`${date}T23:00+02:00`) }));
    assert.deepEqual(on('2026-03-29'), []);
    assert.deepEqual(on('2026-10-25'), [
      '2026-10-25T00:00',
      '2026-10-25T00:30',
      '2026-10-25T01:00',
      '2026-10-25T01:30',
    ]);
  });

  test('the zone is that of the trigger, else of the options, else Bucharest', () => {
    const first = (trigger: TimedTrigger, tz?: string) =>
      shown(slotsAfter(trigger, { anchor: 0, after: at('2026-01-01T00:00Z'), limit: 1, tz }));
    const nine = { type: 'cron', expr: '0 9 * * *' } as const;
    assert.deepEqual(first(nine), ['2026-01-01T07:00']);
    assert.deepEqual(first(nine, 'UTC'), ['2026-01-01T09:00']);
    assert.deepEqual(first({ ...nine, tz: 'Asia/Kolkata' }, 'UTC'), ['2026-01-01T03:30']);
  });

  test('an interval counts from its anchor, the anchor itself left out', () => {
    const trigger = { type: 'interval', every_s: 90 } as const;
    assert.deepEqual(slotsAfter(trigger, { anchor: 1500, after: 0, limit: 3 }), [91_500, 181_500, 271_500]);
    assert.deepEqual(slotsAfter(trigger, { anchor: 1500, after: 91_500, limit: 1 }), [181_500]);
    assert.throws(() => slotsAfter({ ...trigger, every_s: 0 }, { anchor: 0, after: 0, limit: 1 }), RangeError);
  });

  test('a one-off time is a slot until it has been', () => {
    const trigger = { type: 'at', at: '2026-05-01T12:00:00.250+03:00' } as const;
    const instant = at('2026-05-01T09:00:00.250Z');
    assert.deepEqual(slotsAfter(trigger, { anchor: 0, after: instant - 1, limit: 5 }), [instant]);
    assert.deepEqual(slotsAfter(trigger, { anchor: 0, after: instant, limit: 5 }), []);
    const skipDays = { holidays: 'RO' } as const;
    assert.deepEqual(slotsAfter(trigger, { anchor: 0, after: 0, limit: 5, skipDays }), []);
    assert.throws(() => slotsAfter({ type: 'at', at: 'tomorrow' }, { anchor: 0, after: 0, limit: 1 }), RangeError);
  });

  test('skipped days have no slots, and skipping all of them ends', () => {
    const skipDays = { holidays: 'RO', weekdays: [6, 7], dates: ['12-24'] } as const;
    assert.deepEqual(
      shown(slotsAfter(bucharest('0 9 * * *'), { anchor: 0, limit: 3, after: at('2026-12-22T12:00Z'), skipDays })),
      ['2026-12-23T07:00', '2026-12-28T07:00', '2026-12-29T07:00'],
    );
    const second = { type: 'interval', every_s: 1 } as const;
    assert.deepEqual(slotsAfter(second, { anchor: 0, limit: 1, after: at('2026-12-24T12:00Z'), skipDays }), [
      at('2026-12-28T00:00+02:00'),
    ]);
    for (const trigger of [second, bucharest('* * * * * *')]) {
      assert.deepEqual(slotsAfter(trigger, { anchor: 0, limit: 5, after: 0, skipDays: everyDay }), []);
      assert.deepEqual(missedSlots(trigger, { anchor: 0, limit: 5, from: 0, to: 1e12, skipDays: everyDay }), []);
    }
    const never = { anchor: 0, limit: 5, after: 0, skipDays: { weekdays: [1] } };
    assert.deepEqual(slotsAfter(bucharest('* * * * * 1'), never), []);
  });

  test('the newest of very many missed slots are found at once', () => {
    const to = at('2026-06-01T00:00Z');
    const options = { anchor: at('2020-01-01T00:00Z'), from: to - 365 * day, to, limit: 100 };
    const newest = Array.from({ length: 100 }, (_, i) => to - (99 - i) * 1000);
    for (const trigger of [{ type: 'interval', every_s: 1 } as const, bucharest('* * * * * *')]) {
      // The best of three, in milliseconds of this thread's work: others share the machine.
      const took = [1, 2, 3].map(() => {
        const start = process.threadCpuUsage();
        assert.deepEqual(missedSlots(trigger, options), newest);
        const { user, system } = process.threadCpuUsage(start);
        return (user + system) / 1000;
      });
      assert.ok(Math.min(...took) < 50);
    }
  });

  test('a window leaves out its start and takes in its end, both ways', () => {
    const nine = at('2026-01-05T09:00+02:00');
    const options = { anchor: 0, limit: 5 };
    const trigger = bucharest('0 9 * * *');
    assert.deepEqual(slotsAfter(trigger, { ...options, after: nine, until: nine + day }), [nine + day]);
    assert.deepEqual(slotsAfter(trigger, { ...options, after: nine, until: nine + day - 1 }), []);
    assert.deepEqual(missedSlots(trigger, { ...options, from: nine, to: nine + day }), [nine + day]);
    assert.deepEqual(missedSlots(trigger, { ...options, from: nine, to: nine + day - 1 }), []);
  });

  test('missed slots go on with the last second before a skipped day', () => {
    const to = at('2026-01-06T12:00+02:00');
    const options = { anchor: 0, from: 0, to, limit: 2, skipDays: { dates: ['01-06'] } };
    const midnight = at('2026-01-06T00:00+02:00');
    assert.deepEqual(missedSlots(bucharest('* * * * * *'), options), [midnight - 2000, midnight - 1000]);
  });

  test('instants beyond every calendar give no slots and do not throw', () => {
    for (const after of [Number.POSITIVE_INFINITY, Number.NaN, 8.64e15, 1e300]) {
      assert.deepEqual(slotsAfter(bucharest('0 9 * * *'), { anchor: 0, after, limit: 2 }), []);
      assert.deepEqual(missedSlots(bucharest('0 9 * * *'), { anchor: 0, from: after, to: after, limit: 2 }), []);
    }
    assert.equal(slotsAfter(bucharest('0 9 * * *'), { anchor: 0, after: -1e300, limit: 2 }).length, 2);
    assert.deepEqual(slotsAfter(bucharest('0 9 * * *'), { anchor: 0, after: 0, limit: 0 }), []);
  });

  test('slots rise, come after the instant, and continue from any of them', () => {
    fc.assert(
      fc.property(triggers, starts, skips, fc.nat(11), (trigger, after, skipDays, cut) => {
        const options = { anchor: at('2020-01-01T00:00:00.123Z'), skipDays, limit: 12 };
        const slots = slotsAfter(trigger, { ...options, after });
        slots.forEach((slot, i) => assert.ok(slot > (i === 0 ? after : (slots[i - 1] ?? 0))));
        const from = slots[cut];
        if (from === undefined) return;
        const rest = slotsAfter(trigger, { ...options, after: from, limit: 12 - cut - 1 });
        assert.deepEqual(rest, slots.slice(cut + 1));
        // Nothing lies between two slots.
        assert.equal(slotsAfter(trigger, { ...options, after: from - 1, limit: 1 })[0], from);
      }),
      { numRuns: 500 },
    );
  });

  test('no slot lies on a skipped day', () => {
    fc.assert(
      fc.property(triggers, starts, skips, zones, (trigger, after, skipDays, tz) => {
        const slots = slotsAfter(trigger, { anchor: at('2020-01-01T00:00Z'), after, skipDays, tz, limit: 20 });
        const zone = (trigger.type === 'cron' ? trigger.tz : undefined) ?? tz;
        for (const slot of slots) assert.ok(!isSkippedDay(skipDays, slot, zone));
      }),
      { numRuns: 300 },
    );
  });

  test('skipping days takes away the slots of those days and nothing else', () => {
    fc.assert(
      fc.property(triggers, starts, skips, (trigger, after, skipDays) => {
        const options = { anchor: at('2020-01-01T00:00Z'), after, until: after + 20 * day, limit: 2000 };
        const all = slotsAfter(trigger, options);
        if (all.length === options.limit) return;
        const zone = (trigger.type === 'cron' ? trigger.tz : undefined) ?? 'Europe/Bucharest';
        assert.deepEqual(
          slotsAfter(trigger, { ...options, skipDays }),
          all.filter((slot) => !isSkippedDay(skipDays, slot, zone)),
        );
      }),
      { numRuns: 500 },
    );
  });

  test('missed slots are the last ones of the window', () => {
    fc.assert(
      fc.property(triggers, starts, skips, fc.nat(400 * day), fc.integer({ min: 1, max: 30 }), (...given) => {
        const [trigger, from, skipDays, width, limit] = given;
        const options = { anchor: at('2020-01-01T00:00:00.123Z'), skipDays };
        const all = slotsAfter(trigger, { ...options, after: from, until: from + width, limit: 3000 });
        if (all.length === 3000) return;
        assert.deepEqual(missedSlots(trigger, { ...options, from, to: from + width, limit }), all.slice(-limit));
      }),
      { numRuns: 500 },
    );
  });
});
