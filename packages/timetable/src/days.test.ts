import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  hasClockChange,
  inQuietHours,
  isSkippedDay,
  quietUntil,
  type QuietHours,
  slotsAfter,
  type TimedTrigger,
} from './index.ts';

const tz = 'Europe/Bucharest';
const at = (text: string): number => Date.parse(text);
/** An instant by the clock of Bucharest in winter. */
const winter = (text: string): number => at(`2026-01-${text}+02:00`);

describe('quiet hours', () => {
  const cases: [string, QuietHours, [string, boolean][]][] = [
    [
      'within a day: start included, end not',
      { start: '09:00', end: '17:00' },
      [
        ['05T08:59:59.999', false],
        ['05T09:00', true],
        ['05T16:59:59.999', true],
        ['05T17:00', false],
      ],
    ],
    [
      'over midnight',
      { start: '22:00', end: '07:00' },
      [
        ['05T21:59', false],
        ['05T22:00', true],
        ['06T00:00', true],
        ['06T06:59', true],
        ['06T07:00', false],
      ],
    ],
    [
      // 5 January 2026 is a Monday.
      'over midnight, on the days they begin',
      { start: '22:00', end: '07:00', days: [1] },
      [
        ['05T03:00', false],
        ['05T23:00', true],
        ['06T03:00', true],
        ['06T23:00', false],
      ],
    ],
    [
      'start and end alike: a whole day',
      { start: '08:00', end: '08:00', days: [7] },
      [
        ['04T07:59', false],
        ['04T08:00', true],
        ['05T07:59', true],
        ['05T08:00', false],
      ],
    ],
    [
      'in their own zone',
      { start: '09:00', end: '10:00', tz: 'UTC' },
      [
        ['05T09:30', false],
        ['05T11:30', true],
      ],
    ],
  ];
  for (const [name, quiet, instants] of cases) {
    test(name, () => {
      for (const [text, expected] of instants) assert.equal(inQuietHours(quiet, winter(text), tz), expected, text);
    });
  }

  test('go by the clock on the wall when it changes', () => {
    const quiet = { start: '03:30', end: '05:00' };
    assert.equal(inQuietHours(quiet, at('2026-03-29T00:59Z'), tz), false);
    assert.equal(inQuietHours(quiet, at('2026-03-29T01:00Z'), tz), true);
    assert.equal(inQuietHours(quiet, at('2026-10-25T00:30Z'), tz), true);
    assert.equal(inQuietHours(quiet, at('2026-10-25T01:00Z'), tz), false);
    assert.equal(inQuietHours(quiet, at('2026-10-25T01:30Z'), tz), true);
  });

  test('end by the clock on the wall, past midnight and where clocks are turned', () => {
    const night = { start: '22:00', end: '07:00' };
    const ends = (text: string, quiet: QuietHours = night) => {
      const until = quietUntil(quiet, at(text), tz);
      return until === undefined ? undefined : new Date(until).toISOString();
    };
    assert.equal(ends('2026-01-05T20:00Z'), '2026-01-06T05:00:00.000Z');
    assert.equal(ends('2026-01-06T04:59Z'), '2026-01-06T05:00:00.000Z');
    assert.equal(ends('2026-01-06T05:00Z'), undefined);
    assert.equal(ends('2026-03-28T21:00Z'), '2026-03-29T04:00:00.000Z', 'an hour less');
    assert.equal(ends('2026-10-24T20:00Z'), '2026-10-25T05:00:00.000Z', 'an hour more');
    assert.equal(ends('2026-01-05T12:00Z', { start: '09:00', end: '17:00', tz: 'UTC' }), '2026-01-05T17:00:00.000Z');
  });

  test('other times are refused', () => {
    for (const start of ['24:00', '7:00', '07:60', '']) {
      assert.throws(() => inQuietHours({ start, end: '07:00' }, 0, tz), RangeError);
    }
  });
});

describe('skipped days', () => {
  test('are weekdays, dates of one year or of all, and holidays', () => {
    const saturday = winter('03T12:00');
    assert.ok(isSkippedDay({ weekdays: [6] }, saturday, tz));
    assert.ok(!isSkippedDay({ weekdays: [5, 7] }, saturday, tz));
    assert.ok(isSkippedDay({ dates: ['2026-01-03'] }, saturday, tz));
    assert.ok(isSkippedDay({ dates: ['01-03'] }, saturday, tz));
    assert.ok(!isSkippedDay({ dates: ['2025-01-03', '01-04'] }, saturday, tz));
    assert.ok(!isSkippedDay({ holidays: 'RO' }, saturday, tz));
    assert.ok(isSkippedDay({ holidays: 'RO' }, at('2026-04-13T09:00Z'), tz));
    assert.ok(!isSkippedDay({}, saturday, tz));
  });

  test('begin and end at midnight in the zone', () => {
    const skip = { dates: ['2026-06-01'] };
    assert.ok(!isSkippedDay(skip, at('2026-05-31T20:59:59.999Z'), tz));
    assert.ok(isSkippedDay(skip, at('2026-05-31T21:00Z'), tz));
    assert.ok(isSkippedDay(skip, at('2026-06-01T20:59:59.999Z'), tz));
    assert.ok(!isSkippedDay(skip, at('2026-06-01T21:00Z'), tz));
    assert.ok(!isSkippedDay(skip, at('2026-05-31T21:00Z'), 'UTC'));
  });
});

describe('clock changes', () => {
  const five = (trigger: TimedTrigger, text: string): number[] =>
    slotsAfter(trigger, { anchor: at('2026-03-01T00:00Z'), after: at(text), limit: 5, tz });
  const cron = (expr: string): TimedTrigger => ({ type: 'cron', expr, tz });
  const cases: [string, string, boolean, string][] = [
    ['30 3 * * *', '2026-03-27T12:00Z', true, 'a slot is moved out of the gap'],
    ['30 3 * * *', '2026-03-29T12:00Z', false, 'the gap is past'],
    ['30 3 * * *', '2026-03-20T12:00Z', false, 'the gap is to come'],
    ['0 4 * * *', '2026-03-27T12:00Z', false, 'the end of the gap is the slot of its own time'],
    ['59 2 * * *', '2026-03-27T12:00Z', false, 'just before the gap'],
    ['30 3 * * 1-6', '2026-03-27T12:00Z', false, 'not on that day'],
    ['30 3 * * *', '2026-10-23T12:00Z', true, 'a local time exists twice'],
    ['0 3 * * *', '2026-10-23T12:00Z', true, 'the first of the local times that exist twice'],
    ['0 4 * * *', '2026-10-23T12:00Z', false, 'just after the overlap'],
    ['59 2 * * *', '2026-10-23T12:00Z', false, 'just before the overlap'],
    ['*/30 3 * * *', '2026-03-27T12:00Z', true, 'slots between are lost in the gap'],
    ['*/30 3 * * *', '2026-10-24T12:00Z', true, 'slots run twice'],
    ['0 * * * *', '2026-10-24T22:30Z', true, 'hourly, through the overlap'],
    ['0 * * * *', '2026-10-25T02:30Z', false, 'hourly, after it'],
    ['0 9 * * *', '2026-10-23T12:00Z', false, 'far from the change'],
    ['0 0 29 2 *', '2026-03-01T12:00Z', false, 'years of changes between'],
  ];
  for (const [expr, after, expected, why] of cases) {
    test(`'${expr}' after ${after}: ${why}`, () =>
      assert.equal(hasClockChange(cron(expr), five(cron(expr), after)), expected));
  }

  test('slots lost before the first one are seen when the start of the search is told', () => {
    const trigger = cron('*/30 3 * * *');
    const after = at('2026-03-28T12:00Z');
    const slots = slotsAfter(trigger, { anchor: 0, after, limit: 5 });
    assert.equal(hasClockChange(trigger, slots), false);
    assert.equal(hasClockChange(trigger, slots, tz, { after }), true);
    assert.equal(hasClockChange(trigger, slots, tz, { after, skipDays: { weekdays: [7] } }), false);
  });

  test('a one-off time counts when the clock shows it twice', () => {
    const twice: TimedTrigger = { type: 'at', at: '2026-10-25T03:30:00+03:00' };
    assert.equal(hasClockChange(twice, five(twice, '2026-01-01T00:00Z'), tz), true);
    assert.equal(hasClockChange(twice, five(twice, '2026-01-01T00:00Z'), 'UTC'), false);
    const once: TimedTrigger = { type: 'at', at: '2026-03-29T04:00:00+03:00' };
    assert.equal(hasClockChange(once, five(once, '2026-01-01T00:00Z'), tz), false);
  });

  test('an interval loses nothing in a gap', () => {
    const trigger: TimedTrigger = { type: 'interval', every_s: 1800 };
    assert.equal(hasClockChange(trigger, five(trigger, '2026-03-29T00:00Z'), tz), false);
    assert.equal(hasClockChange(trigger, [], tz), false);
  });

  test('half an hour of Lord Howe is a gap and an overlap', () => {
    const trigger: TimedTrigger = { type: 'cron', expr: '15 2 * * *', tz: 'Australia/Lord_Howe' };
    assert.equal(hasClockChange(trigger, five(trigger, '2026-10-02T12:00Z')), true);
    const twice: TimedTrigger = { type: 'cron', expr: '45 1 * * *', tz: 'Australia/Lord_Howe' };
    assert.equal(hasClockChange(twice, five(twice, '2026-04-03T12:00Z')), true);
    assert.equal(hasClockChange(trigger, five(trigger, '2026-04-03T12:00Z')), false);
  });
});
