import assert from 'node:assert/strict';
import { test } from 'node:test';
import { askedOf, sentencesOf, sharedWith, timesOf } from './place.ts';

const text = 'Good morning. The keys are with Popescu, at the gate.';
const [, last = { start: 0, end: 0 }] = sentencesOf(text);
const said = { text, start_ms: 3_000, end_ms: 50_000 };

test('a sentence has the times of its words, and where these are others a share of its utterance by length', () => {
  const words = text
    .split(' ')
    .map((word, n) => ({ text: word, startMs: n < 2 ? 3_000 + n : 40_000 + n, endMs: 41_000 + n }));
  assert.deepEqual(timesOf(said, last, words), { start_ms: 40_002, end_ms: 41_009 });
  const { start_ms, end_ms } = timesOf(said, last, [{ text: 'other', startMs: 0, endMs: 1 }]);
  assert.ok(start_ms > 14_000 && start_ms < 17_000 && end_ms === 50_000);
});

test('a word counts for more than one that is spelt alike, and that for more than none', () => {
  const shared = ['Popescu', 'Popesku', 'crane'].map((q) => sharedWith(askedOf(q), text.slice(last.start)));
  const [same = 0, alike = 0, other = 1] = shared;
  assert.ok(same > alike && alike > other && other === 0, shared.join(' '));
});
