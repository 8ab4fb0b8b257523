import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { changedLines, isSameWay, normalizeLine, normalizeOutput } from './output.ts';

interface Pair {
  readonly id: string;
  readonly before: string;
  readonly after: string;
  /** What a person says who reads both. */
  readonly changed: boolean;
  readonly why: string;
}

const fixture = join(import.meta.dirname, '../fixtures/on-change.json');
const pairs = JSON.parse(readFileSync(fixture, 'utf8')) as Pair[];
const now = Date.parse('2026-03-03T20:00:00Z');
const most = 0.03;

describe('outputs of runs', () => {
  for (const changed of [true, false]) {
    test(`of pairs that a person calls ${changed ? 'a change' : 'none'}, at most 3 % are taken otherwise`, () => {
      const meant = pairs.filter((pair) => pair.changed === changed);
      const wrong = meant.filter(
        ({ before, after }) => (normalizeOutput(before, now) !== normalizeOutput(after, now)) !== changed,
      );
      assert.ok(wrong.length <= most * meant.length, wrong.map(({ id, why }) => `${id}: ${why}`).join('; '));
    });
  }

  test('a date says something while it is to come, in each of its spellings', () => {
    const past = [
      '2026-03-01',
      '01.03.2026',
      '03/01/2026',
      'Mar 1, 2026',
      '1. März 2026',
      '1 mars 2026',
      '20260301-101500',
    ];
    const ahead = ['2026-06-17', '17.06.2026', '06/17/2026', 'Jun 17, 2026', '17. Juni 2026', '17 juin 2026'];
    for (const text of past) assert.equal(normalizeLine(`x ${text}`, now), 'x <time>', text);
    for (const text of ahead) assert.equal(normalizeLine(`x ${text}`, now), `x ${text}`, text);
    assert.equal(normalizeLine('Dec 31 09:07:12 x', Date.parse('2027-01-01T08:00:00Z')), '<time> x');
  });

  test('the bar of tqdm and the meter of curl say how far it is, not how fast it went', () => {
    const same = [
      ['100%|███| 50/50 [00:03<00:00, 15.2it/s]', '100%|███| 50/50 [01:00:04<00:00,  1.20s/it]'],
      ['Map: 100%|##| 9/9 [00:00<00:00, 11502.59 examples/s]', 'Map: 100%|##| 9/9 [00:01<00:00, 987.10 examples/s]'],
      ['50it [00:03, 15.2it/s]', '50it [00:04, ?it/s]'],
      [
        '100  1256  100  1256    0     0   4500      0 --:--:-- --:--:-- --:--:--  4502',
        '100  1256  100  1256    0     0  97.1k      0  0:00:01  0:00:01 --:--:--  98k',
      ],
    ] as const;
    for (const [before, after] of same) assert.equal(normalizeLine(before, now), normalizeLine(after, now));
    const other = [
      ['100%|███| 50/50 [00:03<00:00, 15.2it/s]', '98%|██ | 49/50 [00:03<00:00, 15.2it/s]'],
      ['9/9 [00:03<00:00, 15.2it/s, loss=0.5]', '9/9 [00:03<00:00, 15.2it/s, loss=0.6]'],
      [
        '100  1256  100  1256    0     0   4500      0 --:--:-- --:--:-- --:--:--  4502',
        '100  1300  100  1300    0     0   4500      0 --:--:-- --:--:-- --:--:--  4502',
      ],
    ] as const;
    for (const [before, after] of other) assert.notEqual(normalizeLine(before, now), normalizeLine(after, now));
  });

  test('an uptime in per cent says something, one in seconds does not', () => {
    const other = [
      ['uptime: 99.95%', 'uptime: 91.20%'],
      ['Uptime = 100 %', 'Uptime = 99 %'],
    ] as const;
    for (const [before, after] of other) assert.notEqual(normalizeLine(before, now), normalizeLine(after, now));
    const same = [
      ['uptime: 12345', 'uptime: 12.5'],
      ['{"uptime":12345,"cpu":"3%"}', '{"uptime":99,"cpu":"3%"}'],
    ] as const;
    for (const [before, after] of same) assert.equal(normalizeLine(before, now), normalizeLine(after, now));
  });

  test('the lines that changed are told, those that only moved are not', () => {
    const before = 'at 09:00:00\na\nb\nb\nc';
    assert.deepEqual(changedLines(before, 'at 09:05:00\nc\n\u001b[1mB\u001b[0m\nb\na', now), ['- b', '+ B']);
    const long = Array.from({ length: 99 }, (_, i) => `line ${'x'.repeat(300)} of ${i} here`).join('\n');
    const lines = changedLines('', long, now);
    assert.deepEqual([lines.length, Math.max(...lines.map(({ length }) => length))], [20, 202]);
  });

  test('hashes of two ways of normalising say nothing of each other', () => {
    assert.deepEqual([isSameWay('2:a', '2:b'), isSameWay('2:a', 'a'), isSameWay('a', 'b')], [true, false, true]);
  });
});
