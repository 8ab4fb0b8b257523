import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { type Cue, cuesOf, withLead } from './index.ts';
import { columnsOf } from './width.ts';

type Said = Parameters<typeof cuesOf>[0][number];

const time = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 0, max: 600_000 }) },
  { weight: 1, arbitrary: fc.constantFrom(Number.NaN, Infinity, -Infinity, -5) },
);
const text = fc.oneof(
  fc.lorem({ maxCount: 80 }),
  fc.string({ unit: 'grapheme', maxLength: 300 }),
  fc
    .array(
      fc.constantFrom(
        'so',
        'ship it.',
        'x'.repeat(100),
        '👩‍👩‍👧‍👦'.repeat(9),
        '今天我们讨论发布计划，然后回答问题。',
        'e\u0301'.repeat(50),
        ',',
      ),
    )
    .map((parts) => parts.join(' ')),
);
const utterance: fc.Arbitrary<Said> = fc.oneof(
  fc.record({ speaker: fc.constantFrom('S1', 'S2'), startMs: time, endMs: time, text }),
  fc
    .record({
      speaker: fc.constantFrom('S1', 'S2'),
      startMs: time,
      endMs: time,
      text,
      starts: fc.array(time, { maxLength: 90 }),
    })
    .map(({ starts, ...said }) => {
      const words = said.text.split(/\s+/).filter(Boolean);
      return {
        ...said,
        words: words.map((word, n) => ({
          text: word,
          startMs: starts[n] ?? n * 300,
          endMs: (starts[n] ?? n * 300) + 200,
        })),
      };
    }),
);

const dense = (texts: string): string => texts.replaceAll(/[\p{Cc}\s]+/gu, '');
const shown = (cues: readonly Cue[], speaker: string): string =>
  cues
    .filter((cue) => cue.speaker === speaker)
    .map(({ lines }) => lines.join(''))
    .join('');

function check(cues: readonly Cue[]): void {
  for (const [n, { startMs, endMs, lines }] of cues.entries()) {
    assert.ok(Number.isInteger(startMs) && Number.isInteger(endMs) && startMs >= 0);
    assert.ok(endMs - startMs >= 1_000 && endMs - startMs <= 7_000);
    assert.ok(startMs >= (cues[n - 1]?.endMs ?? 0), 'two cues at once');
    assert.ok(lines.length === 1 || lines.length === 2);
    for (const line of lines) assert.ok(line.length >= 1 && columnsOf(line) <= 42, line);
  }
}

describe('subtitles', () => {
  test('are two lines of 42 at most, for 1 to 7 s, in order, never two at once, and hold every word of any utterances', () => {
    fc.assert(
      fc.property(fc.array(utterance, { maxLength: 12 }), (said) => {
        const cues = cuesOf(said);
        check(cues);
        const letters = (all: string): string => Array.from(dense(all)).sort().join('');
        assert.equal(
          letters(cues.map(({ lines }) => lines.join('')).join('')),
          letters(said.map((one) => one.text.toWellFormed()).join('')),
        );
      }),
      { numRuns: 1_000 },
    );
  });

  test('count signs of East Asia and emoji twice, and neither marks nor signs that join', () => {
    for (const [text, columns] of [
      ['bună ziua', 9],
      ['e\u0301a\u0323', 2],
      ['今天，ｱＡ', 9],
      ['한국어', 6],
      ['\u1112\u1161\u11ab', 2],
      ['ガｶﾞ', 4],
      ['\u200fשָׁלוֹם\u200f', 4],
      ['\u2067مَرْحَبًا\u2069', 5],
      ['हिन्दी', 5],
      ['น้ำ', 2],
      ['e' + '\u0301'.repeat(99), 7],
      ['1\ufe0f\u20e3', 2],
      ['👩‍👩‍👧‍👦🇷🇴☺️☺', 7],
    ] as const)
      assert.equal(columnsOf(text), columns, text);
    const [cue] = cuesOf([{ speaker: 'S1', startMs: 0, endMs: 9_000, text: '今天我们讨论发布计划'.repeat(6) }]);
    assert.ok(cue?.lines.every((line) => line.length <= 21));
  });

  test('leave room for who speaks before the first line of each utterance, or a line', () => {
    const name = fc.oneof(
      fc.constant('Dr. Anamaria Popescu-Tăriceanu:'),
      fc.string({ unit: 'grapheme', minLength: 1 }),
    );
    fc.assert(
      fc.property(utterance, name, (said, lead) => {
        for (const [n, { lines }] of cuesOf([said], () => lead).entries()) {
          const shown = n === 0 ? withLead(lead, lines) : lines;
          assert.ok(shown.length <= 2, shown.join('|'));
          for (const line of shown) assert.ok(columnsOf(line) <= 42, line);
        }
      }),
      { numRuns: 500 },
    );
  });

  test('have the words of an utterance in order, whatever times its words have', () => {
    fc.assert(
      fc.property(utterance, (said) => {
        assert.equal(dense(shown(cuesOf([said]), said.speaker)), dense(said.text.toWellFormed()));
      }),
      { numRuns: 1_000 },
    );
  });

  test('split no grapheme', () => {
    const family = '👩‍👩‍👧‍👦';
    const lines = cuesOf([{ speaker: 'S1', startMs: 0, endMs: 9_000, text: family.repeat(20) }]).flatMap(
      (cue) => cue.lines,
    );
    for (const line of lines) assert.equal(line.replaceAll(family, ''), '');
  });

  test('break at the end of a sentence, else of a clause', () => {
    const text = 'We looked at the numbers of last week. They are better than we thought, so we can ship on Friday.';
    const cues = cuesOf([{ speaker: 'S1', startMs: 0, endMs: 9_000, text }]);
    assert.deepEqual(
      cues.map(({ lines }) => lines.join(' ')),
      ['We looked at the numbers of last week.', 'They are better than we thought, so we can ship on Friday.'],
    );
    assert.deepEqual(cues[1]?.lines, ['They are better than we thought,', 'so we can ship on Friday.']);
  });

  test('have the times of their words where these leave each a second', () => {
    const words = ['Yes.', 'It', 'works.'].map((word, n) => ({
      text: word,
      startMs: n * 4_000,
      endMs: n * 4_000 + 1_500,
    }));
    const cues = cuesOf([{ speaker: 'S1', startMs: 0, endMs: 9_500, text: 'Yes. It works.', words }]);
    assert.deepEqual(
      cues.map(({ startMs, endMs }) => [startMs, endMs]),
      [
        [0, 1_500],
        [4_000, 5_500],
        [8_000, 9_500],
      ],
    );
  });

  test('of two who talk at once follow each other by start; the first is cut, and the delay is made up', () => {
    const said = [
      { speaker: 'S1', startMs: 0, endMs: 3_000, text: 'I think so.' },
      { speaker: 'S2', startMs: 500, endMs: 2_500, text: 'No, wait.' },
      { speaker: 'S1', startMs: 2_200, endMs: 4_000, text: 'Fine.' },
    ];
    assert.deepEqual(
      cuesOf(said).map(({ startMs, endMs, speaker }) => [startMs, endMs, speaker]),
      [
        [0, 1_000, 'S1'],
        [1_000, 2_200, 'S2'],
        [2_200, 4_000, 'S1'],
      ],
    );
  });

  test('show the text of an utterance that was corrected, at the times of its words where they are as many', () => {
    const words = ['helo', 'word'].map((word, n) => ({ text: word, startMs: n * 3_000, endMs: n * 3_000 + 1_000 }));
    const [first, second] = cuesOf([{ speaker: 'S1', startMs: 0, endMs: 4_000, text: 'Hello world', words }]);
    assert.deepEqual([first?.lines, second?.startMs, second?.lines], [['Hello'], 3_000, ['world']]);
    const [whole] = cuesOf([{ speaker: 'S1', startMs: 0, endMs: 4_000, text: 'Hello to the world', words }]);
    assert.deepEqual(whole?.lines, ['Hello to the world']);
  });

  test('of 5,000 utterances and of a text without a space are made', () => {
    const many = Array.from({ length: 5_000 }, (_, n) => ({
      speaker: `S${n % 3}`,
      startMs: n * 700,
      endMs: n * 700 + 900,
      text: 'yes we can',
    }));
    check(cuesOf(many));
    check(cuesOf([{ speaker: 'S1', startMs: 0, endMs: 60_000, text: 'a'.repeat(100_000) }]));
    assert.deepEqual(cuesOf([{ speaker: 'S1', startMs: 0, endMs: 60_000, text: ' \n ' }]), []);
  });
});
