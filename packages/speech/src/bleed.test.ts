import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { track, wordsFrom } from './assemble.testing.ts';
import { assemble, type Assembled, type HeardWord } from './index.ts';

const both = (mic: HeardWord[], system: HeardWord[]): Assembled =>
  assemble({ durationMs: 600_000, tracks: [track('mic', mic), track('system', system)] });
const micTexts = ({ utterances }: Assembled): string[] =>
  utterances.filter(({ track: of }) => of === 'mic').map(({ text }) => text);
const later = (words: HeardWord[], by: number): HeardWord[] =>
  words.map((word) => ({ ...word, startMs: word.startMs + by, endMs: word.endMs + by }));

const ten = ['we', 'ship', 'it', 'on', 'Friday', 'after', 'the', 'last', 'review', 'ends'];

describe('what the microphone picks up from the loudspeakers', () => {
  test('is left out and counted, whatever its case and punctuation', () => {
    const system = wordsFrom(1_000, ten);
    const mic = later(
      wordsFrom(1_000, ['We', 'ship', 'it', 'on', 'friday,', 'after', 'the', 'last', 'review', 'ends.']),
      120,
    );
    const found = both(mic, system);
    assert.deepEqual(micTexts(found), []);
    assert.equal(found.droppedBleedWords, 10);
    assert.deepEqual(
      found.speakers.map(({ isSelf }) => isSelf),
      [false],
    );
  });

  test('is 80 % of the words at least: of an utterance, or of a run in it that begins and ends with such a word', () => {
    const system = wordsFrom(1_000, ten);
    const changed = (...places: number[]) =>
      wordsFrom(
        1_000,
        ten.map((text, n) => (places.includes(n) ? `x${n}` : text)),
      );
    assert.equal(both(changed(0, 9), system).droppedBleedWords, 10);
    // 7 of 10 are too few for the utterance; the run of 8 that has them all is enough.
    assert.equal(both(changed(0, 4, 9), system).droppedBleedWords, 8);
    // 4 of 5 are enough, 3 of 4 are not.
    assert.equal(both(changed(1, 3, 4, 7, 8, 9).slice(0, 8), system).droppedBleedWords, 0);
    assert.equal(both(changed(0, 3, 6, 7, 8, 9), system).droppedBleedWords, 5);
  });

  test('has 4 words at least', () => {
    const system = wordsFrom(1_000, ten);
    assert.equal(both(wordsFrom(1_000, ten.slice(0, 3)), system).droppedBleedWords, 0);
    assert.equal(both(wordsFrom(1_000, ten.slice(0, 4)), system).droppedBleedWords, 4);
  });

  test('is at the same time for 50 % at least', () => {
    const words = (at: number) => wordsFrom(at, ['one', 'two', 'three', 'four'], 500, 0);
    assert.equal(both(words(10_000), words(9_000)).droppedBleedWords, 4);
    assert.equal(both(words(10_000), words(8_999)).droppedBleedWords, 0);
    assert.equal(both(words(10_000), words(2_000)).droppedBleedWords, 0);
  });

  test('has the words in the same order', () => {
    const system = wordsFrom(1_000, ten);
    assert.equal(both(wordsFrom(1_000, ten.slice(0, 5).toReversed()), system).droppedBleedWords, 0);
  });

  test('is cut out of an utterance in which the user speaks too', () => {
    const own = ['No,', 'I', 'would', 'rather', 'wait.', 'That', 'is', 'risky', 'for', 'us', 'all', 'here'];
    const system = wordsFrom(1_000, ten);
    const mic = [...wordsFrom(1_000, ten), ...wordsFrom(5_000, own)];
    const found = both(mic, system);
    assert.equal(found.droppedBleedWords, 10);
    assert.deepEqual(micTexts(found), [own.slice(0, 5).join(' ') + ' ' + own.slice(5).join(' ')]);
  });

  test('is not what the user says in a pause of the loudspeakers, however much of them is heard around it', () => {
    // Ten words end at 4,900 ms, and ten more begin at 7,000.
    const [first, second] = [wordsFrom(1_000, ten), wordsFrom(7_000, ten)];
    const said = wordsFrom(5_200, ['sounds', 'good']);
    const mic = [...later(first, 120), ...said, ...later(second, 120)];
    const found = both(mic, [...first, ...second]);
    assert.equal(found.droppedBleedWords, 20);
    assert.deepEqual(micTexts(found), ['sounds good']);
    // Of what is heard while they speak nobody knows whether it is a word of theirs that was heard wrong.
    const wrong = later(first, 120).map((word, n) => (n === 4 ? { ...word, text: 'Monday' } : word));
    assert.deepEqual(micTexts(both(wrong, first)), []);
  });

  test('is not what the user repeats, nor what a user says with the same few words at another time', () => {
    const system = wordsFrom(1_000, ten);
    assert.equal(both(wordsFrom(5_200, ten), system).droppedBleedWords, 0);
  });

  test('without a system track nothing is left out', () => {
    const mixed = assemble({
      durationMs: 600_000,
      tracks: [track('mic', wordsFrom(0, ten)), track('mixed', wordsFrom(0, ten))],
    });
    assert.equal(mixed.droppedBleedWords, 0);
  });
});
