import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { Cron } from 'croner';
import { missedSlots, slotsAfter } from './index.ts';

const file = join(import.meta.dirname, '../fixtures/cron.txt.gz');
const cases = gunzipSync(readFileSync(file))
  .toString()
  .trimEnd()
  .split('\n')
  .map((line) => {
    const [tz = '', expr = '', start = '', deltas = ''] = line.split('\t');
    let second = Number(start);
    const slots = deltas.split(' ').map((delta) => (second += Number(delta)) * 1000);
    return { trigger: { type: 'cron', expr, tz } as const, after: Number(start) * 1000, slots };
  });

const names = ['', 'jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const weekdays = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

/** Ranges as lists: croner takes a step for a wildcard, which changes what it does when the clock changes. */
function withoutRanges(field: string, place: number): string {
  const item = (text: string): string => {
    const [, from, to, step = '1'] = /^(\w+)-(\w+)(?:\/(\d+))?$/.exec(text.toLowerCase()) ?? [];
    if (from === undefined || to === undefined) return text;
    const number = (name: string): number =>
      /\d/.test(name) ? Number(name) : (place === 5 ? weekdays : names).indexOf(name);
    const values = [];
    const last = to === 'sun' ? 7 : number(to);
    for (let value = number(from); value <= last; value += Number(step)) values.push(value);
    return values.join(',');
  };
  return field.split(',').map(item).join(',');
}

describe('cron expressions, against an implementation in another language', () => {
  test('there are 20,000 cases', () => assert.equal(cases.length, 20_000));

  test('the next slots are the same', () => {
    const wrong = cases.filter(({ trigger, after, slots }) => {
      const found = slotsAfter(trigger, { anchor: 0, after, limit: slots.length });
      return String(found) !== String(slots);
    });
    assert.deepEqual(wrong.slice(0, 5), []);
    assert.equal(wrong.length, 0);
  });

  test('searched backwards, the slots are the same', () => {
    const wrong = cases.filter(({ trigger, after, slots }) => {
      const to = slots.at(-1) ?? after;
      return String(missedSlots(trigger, { anchor: 0, from: after, to, limit: 10 })) !== String(slots);
    });
    assert.deepEqual(wrong.slice(0, 5), []);
    assert.equal(wrong.length, 0);
  });

  test('croner, told the day rule of each expression, has the same slots in Bucharest', () => {
    const here = cases.filter(({ trigger }) => trigger.tz === 'Europe/Bucharest');
    const wrong = here.filter(({ trigger, after, slots }) => {
      const given = trigger.expr.split(' ');
      const fields = given.length === 5 ? ['0', ...given] : given;
      const domAndDow = [fields[3], fields[5]].some((field) => field?.startsWith('*'));
      const options = { timezone: trigger.tz, fixedTimeRule: 'no-wildcard', domAndDow } as const;
      const found = new Cron(fields.map(withoutRanges).join(' '), options).nextRuns(slots.length, new Date(after));
      return String(found.map(Number)) !== String(slots);
    });
    assert.deepEqual(wrong.slice(0, 5), []);
    assert.equal(here.length, 2500);
  });
});
