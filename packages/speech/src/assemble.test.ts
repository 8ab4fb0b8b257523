import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { ofWords, textsOf, track, wordsFrom } from './assemble.testing.ts';
import { assemble, estimateWords, type HeardWord } from './index.ts';

const number = fc.oneof(
  fc.double({ min: -1e4, max: 1e6 }),
  fc.constantFrom(Number.NaN, Infinity, -Infinity, -1, 1e300, 0),
);
const hostile: fc.Arbitrary<HeardWord> = fc.record(
  {
    text: fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('', ' ', 'two words', '\u0000', '\ud800', 'x'.repeat(9_000)),
    ),
    startMs: number,
    endMs: number,
    speaker: fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor')),
    confidence: number,
  },
  { requiredKeys: ['text', 'startMs', 'endMs'] },
);
const shape = fc.record({ n: fc.nat(), startMs: number, endMs: number, fromMs: number, toMs: number });
const kind = fc.constantFrom('mic' as const, 'system' as const, 'mixed' as const);

function check(found: ReturnType<typeof assemble>): void {
  const labels = new Set(found.speakers.map(({ label }) => label));
  for (const [n, utterance] of found.utterances.entries()) {
    assert.equal(utterance.seq, n);
    assert.ok(utterance.startMs >= (found.utterances[n - 1]?.startMs ?? 0));
    assert.ok(utterance.endMs >= utterance.startMs && utterance.endMs - utterance.startMs <= 60_000);
    assert.ok(utterance.text.length > 0 && utterance.text.length <= 4_000 && labels.has(utterance.speaker));
    assert.ok(utterance.words.length > 0 && utterance.text.isWellFormed() && !/\p{Cc}/u.test(utterance.text));
    for (const { startMs, endMs, confidence } of utterance.words) {
      assert.ok([startMs, endMs].every(Number.isInteger) && startMs >= utterance.startMs && endMs <= utterance.endMs);
      assert.ok(startMs <= endMs && (confidence === null || (confidence >= 0 && confidence <= 1)));
    }
  }
}

describe('a transcript', () => {
  test('is made of whatever providers answer', () => {
    const heard = fc.record(
      { words: fc.array(hostile, { maxLength: 40 }), language: fc.string() },
      { requiredKeys: ['words'] },
    );
    const one = fc.record({ track: kind, windows: fc.array(fc.record({ window: shape, heard }), { maxLength: 4 }) });
    fc.assert(
      fc.property(number, fc.array(one, { maxLength: 3 }), (durationMs, tracks) => {
        check(assemble({ durationMs, tracks, vocabulary: [{ term: 'two word' }, { term: '', sounds_like: [''] }] }));
      }),
      { numRuns: 1_000 },
    );
  });

  test('of 100,000 words is made, also when all are at one time, by as many speakers, in two tracks', () => {
    const count = 100_000;
    const words = Array.from({ length: count }, (_, n) => ({ text: `w${n % 50}`, startMs: 5_000, endMs: 5_200 }));
    check(assemble({ durationMs: 600_000, tracks: [track('mic', words), track('system', words)] }));
    const many = words.map((word, n) => ({ ...word, startMs: n * 100, endMs: n * 100 + 90, speaker: `${n}` }));
    check(assemble({ durationMs: 1e7, tracks: [track('mixed', many, 1e7)] }));
    const window = { n: 0, startMs: 0, endMs: 1_000, fromMs: 0, toMs: 900_000 };
    const windows = [0, 1, 2].map((n) => ({ window: { ...window, n, startMs: n * 300_000 }, heard: { words: many } }));
    check(assemble({ durationMs: 900_000, tracks: [{ track: 'system', windows }] }));
  });

  test('has every word once, in the order in which the provider says them', () => {
    const words = [
      { text: 'first', startMs: 2_000, endMs: 2_300 },
      { text: 'second', startMs: Number.NaN, endMs: Number.NaN },
      { text: ' ', startMs: 2_400, endMs: 2_500 },
      { text: 'third', startMs: 1_000, endMs: 500 },
    ];
    const found = ofWords(words);
    assert.deepEqual(textsOf(found), ['first', 'second', 'third']);
    assert.deepEqual(
      found.utterances.flatMap((utterance) => utterance.words.map(({ startMs, estimated }) => [startMs, estimated])),
      [
        [2_000, false],
        [2_300, true],
        [2_500, true],
      ],
    );
  });

  test('has utterances that end at another speaker, a pause over 1 s, and a shorter one after a sentence', () => {
    const said = (text: string, startMs: number, speaker = 'a') => ({ text, startMs, endMs: startMs + 200, speaker });
    const words = [
      said('one', 0),
      said('two', 1_200),
      said('three', 2_401),
      said('four.', 2_700),
      said('five', 3_600),
      said('six', 3_900, 'b'),
    ];
    assert.deepEqual(
      ofWords(words).utterances.map(({ text, speaker }) => [text, speaker]),
      [
        ['one two', 'S1'],
        ['three four.', 'S1'],
        ['five', 'S1'],
        ['six', 'S2'],
      ],
    );
  });

  test('has utterances of 60 s and 4,000 characters at most, without a word lost', () => {
    const slow = wordsFrom(
      0,
      Array.from({ length: 300 }, (_, n) => `w${n}`),
      500,
      290,
    );
    check(ofWords(slow));
    assert.equal(textsOf(ofWords(slow)).length, 300);
    const fast = wordsFrom(
      0,
      Array.from({ length: 3_000 }, (_, n) => `word${n}`),
      10,
      0,
    );
    check(ofWords(fast));
    assert.equal(textsOf(ofWords(fast)).length, 3_000);
  });

  test('names speakers in the order in which they first speak over all tracks, and its language by talk time', () => {
    const one = track(
      'system',
      wordsFrom(5_000, ['bună', 'ziua', 'tuturor', 'celor', 'prezenți']).map((word) => ({ ...word, speaker: '1' })),
    );
    const two = track('mic', wordsFrom(1_000, ['hello']));
    for (const { heard } of one.windows) heard.language = 'Romanian';
    for (const { heard } of two.windows) heard.language = 'en-US';
    const found = assemble({ durationMs: 600_000, tracks: [one, two] });
    assert.deepEqual(
      found.speakers.map(({ label, isSelf, utteranceCount }) => [label, isSelf, utteranceCount]),
      [
        ['S1', true, 1],
        ['S2', false, 1],
      ],
    );
    assert.deepEqual([found.language, ...found.utterances.map(({ language }) => language)], ['ro', 'en', 'ro']);
    assert.equal(assemble({ durationMs: 600_000, tracks: [one, two], language: 'de-AT' }).language, 'de');
    const unnamed = ofWords(wordsFrom(0, 'so what do you think about this'.split(' ')));
    assert.deepEqual([unnamed.language, unnamed.utterances[0]?.language], ['en', 'en']);
  });
});

describe('estimated words', () => {
  test('fill the time of their segment in order, each by its length, and are marked', () => {
    fc.assert(
      fc.property(fc.lorem({ maxCount: 40 }), fc.nat(1e6), fc.nat(1e5), (text, startMs, length) => {
        const words = estimateWords(text, startMs, startMs + length, { speaker: 'a', confidence: 0.5 });
        assert.equal(words.map((word) => word.text).join(' '), text.split(/\s+/).join(' '));
        assert.deepEqual([words[0]?.startMs, words.at(-1)?.endMs], [startMs, startMs + length]);
        for (const [n, word] of words.entries()) {
          assert.deepEqual([word.estimated, word.speaker, word.confidence], [true, 'a', 0.5]);
          if (n > 0) assert.equal(word.startMs, words[n - 1]?.endMs);
        }
      }),
    );
  });

  test('are none for a text without words, and none is lost to times that are no numbers', () => {
    assert.deepEqual(estimateWords(' \n', 0, 1_000), []);
    assert.equal(estimateWords('a b c', Number.NaN, -Infinity).length, 3);
  });

  test('of scripts without spaces are what a dictionary parts, and are joined without spaces again', () => {
    const text = '今天我们讨论发布计划。';
    assert.ok(estimateWords(text, 0, 3_000).length > 3);
    assert.equal(ofWords([{ text, startMs: 0, endMs: 3_000 }]).utterances[0]?.text, text);
  });
});
