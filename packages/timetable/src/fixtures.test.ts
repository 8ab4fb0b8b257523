import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
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
});
