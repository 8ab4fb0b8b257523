import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { hear, textsOf, twoWindows, wordsFrom } from './assemble.testing.ts';
import { assemble, type Heard, type HeardWord, planWindows, type Window } from './index.ts';

/** Words at least 50 ms apart. */
const speech = fc
  .array(fc.record({ gap: fc.integer({ min: 50, max: 1_500 }), length: fc.integer({ min: 60, max: 900 }) }), {
    minLength: 1,
    maxLength: 150,
  })
  .map((parts) => {
    let at = 0;
    return parts.map(({ gap, length }, n): HeardWord => {
      at += gap + length;
      return { text: `w${n}`, startMs: at - length, endMs: at };
    });
  });
const jitters = fc.infiniteStream(fc.integer({ min: -50, max: 50 }));

/** Moves a word by one value and its end by another, as two runs of a model do. */
const moved =
  (stream: Iterator<number>) =>
  (word: HeardWord): HeardWord => {
    const by = (): number => stream.next().value ?? 0;
    const startMs = word.startMs + by();
    return { ...word, startMs, endMs: Math.max(startMs, word.endMs + by()) };
  };

const assembled = (durationMs: number, windows: { window: Window; heard: Heard }[]): string[] =>
  textsOf(assemble({ durationMs, tracks: [{ track: 'mixed', windows }] }));

describe('stitching', () => {
  test('loses, doubles and swaps no word, wherever the cut is and whatever the jitter of both windows up to 50 ms', () => {
    fc.assert(
      fc.property(speech, fc.double({ min: 0, max: 1, noNaN: true }), jitters, (words, share, jitter) => {
        const duration = (words.at(-1)?.endMs ?? 0) + 1_000;
        const windows = twoWindows(Math.floor(duration * share), duration).map((window) => ({
          window,
          heard: hear(words, window, moved(jitter)),
        }));
        assert.deepEqual(
          assembled(duration, windows),
          words.map(({ text }) => text),
        );
      }),
      { numRuns: 3_000 },
    );
  });

  test('does so over the planned windows of a long recording without a silence', () => {
    const words = wordsFrom(
      0,
      Array.from({ length: 9_000 }, (_, n) => `w${n}`),
      350,
      50,
    );
    const duration = 3_600_000;
    fc.assert(
      fc.property(jitters, (jitter) => {
        const windows = planWindows(duration, []).map((window) => ({
          window,
          heard: hear(words, window, moved(jitter)),
        }));
        assert.deepEqual(
          assembled(duration, windows),
          words.map(({ text }) => text),
        );
      }),
      { numRuns: 5 },
    );
  });

  test('keeps a word over the cut once, whichever window thinks that it has its middle', () => {
    const words = wordsFrom(95_000, ['a', 'b', 'c', 'over', 'd', 'e', 'f'], 1_000, 100);
    const over = words[3] as HeardWord;
    for (const by of [-450, -150, 0, 150, 450]) {
      const cut = (over.startMs + over.endMs) / 2 + by;
      for (const sign of [-1, 1]) {
        const windows = twoWindows(cut, 200_000).map((window, n) => {
          const shift = n === 0 ? 100 * sign : -100 * sign;
          return {
            window,
            heard: hear(words, window, (word) => ({
              ...word,
              startMs: word.startMs + shift,
              endMs: word.endMs + shift,
            })),
          };
        });
        assert.deepEqual(assembled(200_000, windows), ['a', 'b', 'c', 'over', 'd', 'e', 'f']);
      }
    }
  });

  test('goes by times: windows that spelled a word differently keep one spelling, one that repeats keeps all', () => {
    const words = wordsFrom(90_000, ['no', 'no', 'no', 'no', 'no', 'no', 'no', 'no', 'no', 'no'], 800, 200);
    const windows = twoWindows(95_000, 200_000).map((window, n) => ({
      window,
      heard: hear(words, window, (word) => (n === 0 ? word : { ...word, text: 'know' })),
    }));
    assert.equal(assembled(200_000, windows).length, 10);
  });

  test('takes what one window alone heard from the window whose core it is in', () => {
    const words = wordsFrom(90_000, ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'], 500, 500);
    const [first, second] = twoWindows(95_000, 200_000);
    const windows = [
      { window: first, heard: hear([...words.slice(0, 2), ...words.slice(3)], first) },
      { window: second, heard: hear([...words.slice(0, 7), ...words.slice(8)], second) },
    ];
    // The first window missed c in its core, the second h in its own.
    assert.deepEqual(assembled(200_000, windows), ['a', 'b', 'd', 'e', 'f', 'g', 'i', 'j']);
  });

  test('keeps the context of a window whose neighbour is missing', () => {
    const [first] = twoWindows(150_000, 300_000);
    const short = wordsFrom(140_000, ['x', 'y', 'z'], 8_000, 0);
    assert.deepEqual(assembled(300_000, [{ window: first, heard: hear(short, first) }]), ['x', 'y', 'z']);
  });
});
