import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { isQuiet, planWindows, type Silence } from './index.ts';

const minute = 60_000;
const context = 20_000;

const silence: fc.Arbitrary<Silence> = fc
  .record({ at: fc.integer({ min: -minute, max: 181 * minute }), length: fc.integer({ min: -1_000, max: 20_000 }) })
  .map(({ at, length }) => ({ startMs: at, endMs: at + length }));
const number = fc.oneof(fc.double(), fc.constantFrom(Number.NaN, Infinity, -Infinity, Number.MAX_VALUE));

describe('planned windows', () => {
  test('tile the recording with their cores, and none hears over 15 min or over 20 s of context on a side', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 180 * minute }), fc.array(silence), (duration, silences) => {
        const windows = planWindows(duration, silences);
        assert.equal(windows[0]?.startMs, 0);
        assert.equal(windows.at(-1)?.endMs, duration);
        for (const [n, window] of windows.entries()) {
          assert.equal(window.n, n);
          assert.ok(window.endMs > window.startMs && [window.startMs, window.endMs].every(Number.isInteger));
          assert.ok(window.toMs - window.fromMs <= 15 * minute);
          assert.ok(window.fromMs <= window.startMs && window.startMs - window.fromMs <= context);
          assert.ok(window.toMs >= window.endMs && window.toMs - window.endMs <= context);
          assert.ok(window.fromMs >= 0 && window.toMs <= duration);
          if (n > 0) assert.equal(window.startMs, windows[n - 1]?.endMs);
          if (windows.length > 1) assert.ok(window.endMs - window.startMs >= 4 * minute, 'a tiny window');
        }
      }),
      { numRuns: 2_000 },
    );
  });

  test('are one where everything fits, and two of about one length right beyond', () => {
    assert.deepEqual(planWindows(15 * minute, []), [
      { n: 0, startMs: 0, endMs: 15 * minute, fromMs: 0, toMs: 15 * minute },
    ]);
    const cores = planWindows(15 * minute + 1, []).map(({ startMs, endMs }) => endMs - startMs);
    assert.equal(cores.length, 2);
    assert.ok(Math.min(...cores) > 6 * minute);
  });

  test('are 13 for 3 h, the fewest that there can be', () => {
    assert.equal(planWindows(180 * minute, []).length, 13);
  });

  test('are cut in the middle of the longest silence near the end of what fits', () => {
    const silences = [
      { startMs: 100_000, endMs: 130_000 },
      { startMs: 700_000, endMs: 701_000 },
      { startMs: 720_000, endMs: 724_000 },
      { startMs: 740_000, endMs: 742_000 },
    ];
    assert.equal(planWindows(1_500_000, silences)[0]?.endMs, 722_000);
    assert.equal(planWindows(1_500_000, silences.toReversed())[0]?.endMs, 722_000);
  });

  test('end for durations and silences that are no such numbers', () => {
    assert.deepEqual(planWindows(Number.NaN, []), []);
    assert.deepEqual(planWindows(-1, []), []);
    fc.assert(
      fc.property(number, fc.array(fc.record({ startMs: number, endMs: number })), (duration, silences) => {
        for (const { fromMs, toMs } of planWindows(duration, silences)) assert.ok(toMs - fromMs <= 15 * minute);
      }),
    );
  });

  test('in which nothing sounds are known; a cough in one is no sound, a word is', () => {
    const total = 20 * minute;
    const windows = planWindows(total, []);
    const of = (silences: Silence[]) => windows.map((window) => isQuiet(window, silences, total));
    assert.deepEqual(of([]), [false, false]);
    assert.deepEqual(of([{ startMs: 0, endMs: total }]), [true, true]);
    const spoken = { startMs: 2_000, endMs: total };
    assert.deepEqual(of([spoken]), [false, true]);
    const at = (windows[1]?.startMs ?? 0) + minute;
    const broken = (ms: number): Silence[] => [
      { ...spoken, endMs: at },
      { startMs: at + ms, endMs: total },
    ];
    assert.deepEqual([of(broken(250))[1], of(broken(400))[1]], [true, false]);
  });
});
