import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  actOfKey,
  citedParts,
  clockOf,
  markedOf,
  momentAt,
  momentOf,
  piecesOf,
  spanAround,
  speedAfter,
} from '../src/pages/transcripts/player.rules.ts';

test('the word that is heard is the last one that began, at every millisecond', () => {
  const starts = [500, 500, 900, 2_000, 2_001, 60_000];
  const moments = starts.map((startMs) => ({ startMs }));
  for (let ms = 0; ms < 61_000; ms += 7)
    assert.equal(
      momentAt(moments, ms),
      starts.findLastIndex((start) => start <= ms),
      String(ms),
    );
  assert.equal(momentAt([], 5), -1);
});

test('words are known for ten minutes around the position, and are not asked anew until it nears an end', () => {
  assert.deepEqual(spanAround(0), { fromMs: 0, toMs: 600_000 });
  const first = spanAround(0);
  assert.equal(spanAround(539_999, first), first);
  const second = spanAround(550_000, first);
  assert.deepEqual(second, { fromMs: 240_000, toMs: 840_000 });
  assert.equal(spanAround(301_000, second), second);
  assert.notEqual(spanAround(299_000, second), second);
  for (let ms = 0; ms < 10_800_000; ms += 61_007) {
    const { fromMs, toMs } = spanAround(ms);
    assert.ok(fromMs <= ms && ms < toMs && toMs - fromMs === 600_000, String(ms));
  }
});

test('keys play, skip five seconds and change the speed, unless what has the focus uses them or single keys are off', () => {
  const free = { isTaken: false, areSingleKeysOn: true };
  assert.deepEqual(actOfKey(' ', free), { kind: 'toggle' });
  assert.deepEqual(actOfKey('ArrowLeft', free), { kind: 'skip', byMs: -5_000 });
  assert.deepEqual(actOfKey('ArrowRight', free), { kind: 'skip', byMs: 5_000 });
  assert.deepEqual(actOfKey('<', free), { kind: 'speed', step: -1 });
  assert.deepEqual(actOfKey('>', free), { kind: 'speed', step: 1 });
  assert.equal(actOfKey('x', free), undefined);
  for (const key of [' ', 'ArrowLeft', '<']) assert.equal(actOfKey(key, { ...free, isTaken: true }), undefined);
  assert.equal(actOfKey(' ', { ...free, areSingleKeysOn: false }), undefined);
  assert.deepEqual(actOfKey('ArrowLeft', { ...free, areSingleKeysOn: false }), { kind: 'skip', byMs: -5_000 });
});

test('the speed goes from 0.75 to 2 and stays at its ends', () => {
  const up = [0.75, 1, 1.25, 1.5, 1.75, 2].map((speed) => speedAfter(speed, 1));
  assert.deepEqual(up, [1, 1.25, 1.5, 1.75, 2, 2]);
  assert.deepEqual([speedAfter(0.75, -1), speedAfter(2, -1), speedAfter(3, 1)], [0.75, 1.75, 2]);
});

test('all of a text stands in its pieces, whatever the words are', () => {
  const words = (...texts: string[]) => texts.map((text) => ({ text }));
  assert.deepEqual(piecesOf('Bună ziua, Ana.', words('Bună', 'ziua,', 'Ana.')), [
    { text: 'Bună', word: 0 },
    { text: ' ' },
    { text: 'ziua,', word: 1 },
    { text: ' ' },
    { text: 'Ana.', word: 2 },
  ]);
  // The vocabulary wrote another word than was heard.
  assert.deepEqual(piecesOf('we use Kubernetes now', words('we', 'use', 'cooper', 'netties', 'now')), [
    { text: 'we', word: 0 },
    { text: ' ' },
    { text: 'use', word: 1 },
    { text: ' Kubernetes ' },
    { text: 'now', word: 4 },
  ]);
  for (const [text, heard] of [
    ['abc', ['c', 'a']],
    ['', ['x']],
    ['the end', []],
    ['a a a', ['a', '', 'a']],
  ] as const)
    assert.equal(
      piecesOf(text, words(...heard))
        .map((piece) => piece.text)
        .join(''),
      text,
    );
});

test('marks of a search and citations of an answer lose no text', () => {
  assert.deepEqual(markedOf('the launch is', [[4, 10]]), [
    { text: 'the ', isMarked: false },
    { text: 'launch', isMarked: true },
    { text: ' is', isMarked: false },
  ]);
  assert.equal(
    markedOf('abc', [
      [2, 1],
      [0, 9],
      [1, 2],
    ])
      .map(({ text }) => text)
      .join(''),
    'abc',
  );
  assert.deepEqual(citedParts('On Friday. [1] Or [12].'), [
    { text: 'On Friday. ' },
    { n: 1 },
    { text: ' Or ' },
    { n: 12 },
    { text: '.' },
  ]);
});

test('a place of a recording is written as people do, and read from an address', () => {
  assert.deepEqual([0, 7_900, 723_000, 3_723_000].map(clockOf), ['0:00', '0:07', '12:03', '1:02:03']);
  assert.deepEqual(
    [momentOf('1500'), momentOf('-1'), momentOf(null), momentOf('9e9')],
    [1_500, undefined, undefined, undefined],
  );
});
