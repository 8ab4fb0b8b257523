import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { ofWords, textsOf } from './assemble.testing.ts';
import { estimateWords, isHeaped, segmentsInOrder, spreadWords } from './index.ts';
import { inOrder, type Said } from './order.ts';

const said = (startMs: number | undefined, endMs: number | undefined, words = 4): Said => ({ startMs, endMs, words });
const spans = (list: readonly Said[]) => inOrder(list).map(({ startMs, endMs, moved }) => [startMs, endMs, moved]);

/** The transcript of segments, as a provider that gives no times of words answers them. */
const ofSegments = (segments: Parameters<typeof segmentsInOrder>[0]) =>
  ofWords(
    segmentsInOrder(segments).flatMap(({ text, startMs, endMs, ...more }) => estimateWords(text, startMs, endMs, more)),
  );

describe('what a speaker said', () => {
  test('keeps times that hold together as they are', () => {
    const list = [said(0, 1_000), said(1_000, 2_500), said(2_600, 2_600)];
    assert.deepEqual(spans(list), [
      [0, 1_000, false],
      [1_000, 2_500, false],
      [2_600, 2_600, false],
    ]);
  });

  test('ends where the next begins, when its end is too late', () => {
    assert.deepEqual(spans([said(0, 1_920_000), said(5_000, 9_000)]), [
      [0, 5_000, true],
      [5_000, 9_000, false],
    ]);
    assert.deepEqual(spans([said(0, 5_050), said(5_000, 9_000)])[0], [0, 5_000, false], 'a rounding moves nothing');
  });

  test('begins where the one before ends, when its start jumps back', () => {
    assert.deepEqual(spans([said(5_000, 7_000), said(0, 9_000), said(9_000, 12_000)])[1], [7_000, 9_000, true]);
    assert.deepEqual(spans([said(5_000, 7_000), said(0, 1_000)])[1], [7_000, 8_200, true]);
  });

  test('is not moved by one whose start jumps ahead', () => {
    const list = [said(0, 1_000), said(1_900_000, 1_901_000), said(2_000, 3_000), said(3_000, 4_000)];
    assert.deepEqual(spans(list), [
      [0, 1_000, false],
      [1_000, 2_000, true],
      [2_000, 3_000, false],
      [3_000, 4_000, false],
    ]);
  });

  test('shares the time up to the next one where none is left', () => {
    assert.deepEqual(spans([said(0, 9_000, 1), said(undefined, undefined, 3), said(1_000, 2_000)]), [
      [0, 250, true],
      [250, 1_000, true],
      [1_000, 2_000, false],
    ]);
  });

  test('gets times that never go back, one for each, whatever is given', () => {
    const time = fc.option(fc.double({ min: -1e6, max: 1e7, noNaN: true }), { nil: undefined });
    const one = fc.record({ startMs: time, endMs: time, words: fc.nat(20) });
    fc.assert(
      fc.property(fc.array(one, { maxLength: 30 }), (list) => {
        const timed = inOrder(list);
        assert.equal(timed.length, list.length);
        for (const [n, { startMs, endMs }] of timed.entries()) {
          assert.ok(endMs >= startMs && Number.isFinite(endMs), `${startMs} to ${endMs}`);
          const before = timed[n - 1];
          if (before) assert.ok(startMs >= before.endMs - 1e-3, `${startMs} before ${before.endMs}`);
        }
      }),
    );
  });
});

describe('segments of a provider', () => {
  const texts = ['we begin with the plan', 'then the budget of May', 'and at last the hiring'];
  const inAll = texts.join(' ');

  test('are in their order when one ends 32 minutes too late, overlaps by 2 s, or begins at 0', () => {
    const right = texts.map((text, n) => ({ text, startMs: n * 5_000, endMs: n * 5_000 + 5_000 }));
    const wrong = (n: number, change: object) => right.map((one, at) => (at === n ? { ...one, ...change } : one));
    for (const segments of [
      right,
      wrong(0, { endMs: 1_920_000 }),
      wrong(0, { endMs: 7_000 }),
      wrong(1, { startMs: 0 }),
      wrong(2, { startMs: 0, endMs: 3_000 }),
      wrong(1, { startMs: 500_000, endMs: 505_000 }),
      wrong(1, { startMs: Number.NaN, endMs: Number.NaN }),
      right.map((one) => ({ ...one, startMs: 4_000, endMs: 4_000 })),
      right.map((one) => ({ ...one, startMs: -5_000, endMs: -1_000 })),
    ])
      assert.equal(textsOf(ofSegments(segments)).join(' '), inAll, JSON.stringify(segments));
  });

  test('without times are left without: who has the audio spreads them over it', () => {
    const untimed = texts.map((text) => ({ text, startMs: Number.NaN, endMs: Number.NaN }));
    const words = segmentsInOrder(untimed).flatMap(({ text, startMs, endMs }) => estimateWords(text, startMs, endMs));
    assert.ok(words.every(({ startMs }) => Number.isNaN(startMs)));
    const spread = spreadWords(words, 12_000);
    assert.equal(spread.map(({ text }) => text).join(' '), inAll);
    assert.deepEqual([spread[0]?.startMs, spread.at(-1)?.endMs], [0, 12_000]);
  });

  test('stand in a heap where they say one time of everything, or ever earlier ones', () => {
    const heaped = (time: (n: number) => [startMs: number, endMs: number], count = 12, speakers = ['A']) => {
      const words = Array.from({ length: count }, (_, n) => {
        const [startMs, endMs] = time(n);
        return { text: `w${n}`, startMs, endMs, speaker: speakers[n % speakers.length] as string };
      });
      return isHeaped({ words }, 60_000);
    };
    const right = (n: number): [number, number] => [n * 100, n * 100 + 90];
    const all = [
      heaped(() => [0, 0]),
      heaped(() => [5_000, 9_000]),
      heaped((n) => [60_000 - n * 5_000, 61_000]),
      heaped(() => [0, 0], 4),
      heaped(() => [0, 0], 12, ['A', 'B']),
    ];
    assert.deepEqual(all, [true, true, true, true, true]);
    const none = [
      heaped(right),
      heaped(right, 12, ['A', 'B']),
      heaped((n) => (n < 3 ? [0, 0] : right(n))),
      heaped(() => [0, 0], 3),
      heaped(right, 0),
    ];
    assert.deepEqual(none, [false, false, false, false, false]);
  });

  test('of two speakers who overlap do not stand among each other', () => {
    const found = ofSegments([
      { text: 'Anna says that the train was late', startMs: 0, endMs: 6_000, speaker: 'A' },
      { text: 'Boris took every umbrella', startMs: 2_000, endMs: 8_000, speaker: 'B' },
      { text: 'and that it rained', startMs: 6_000, endMs: 9_000, speaker: 'A' },
    ]);
    assert.deepEqual(
      found.utterances.map(({ speaker, text }) => [speaker, text]),
      [
        ['S1', 'Anna says that the train was late'],
        ['S2', 'Boris took every umbrella'],
        ['S1', 'and that it rained'],
      ],
    );
  });
});
