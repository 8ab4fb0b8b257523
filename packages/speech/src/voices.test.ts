import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { hear, type True, twoWindows } from './assemble.testing.ts';
import { assemble, type Assembled, type Heard, type Window } from './index.ts';
import { errorOf, scripted } from './scripted.testing.ts';

const duration = 200_000;
const cut = 100_000;

/** Turns of four words, one a second, with a pause after each. */
const turns = (speakers: string, startMs: number): True[] =>
  speakers.split('').flatMap((speaker, turn) =>
    [0, 1, 2, 3].map((n) => ({
      text: `${speaker}${turn}`,
      speaker,
      startMs: startMs + turn * 4_000 + n * 900,
      endMs: startMs + turn * 4_000 + n * 900 + 600,
    })),
  );

const assembled = (windows: { window: Window; heard: Heard }[]): Assembled =>
  assemble({ durationMs: duration, tracks: [{ track: 'system', windows }] });

/** For each speaker of the truth the labels that its words got. The truth is the first letter of a word. */
function labelsOf({ utterances }: Assembled): Record<string, string> {
  const labels = new Map<string, Set<string>>();
  for (const { speaker, text } of utterances) {
    const truth = text.slice(0, 1);
    labels.set(truth, (labels.get(truth) ?? new Set()).add(speaker));
  }
  return Object.fromEntries([...labels].map(([truth, own]) => [truth, [...own].sort().join('+')]));
}

/** Both windows as a provider that numbers speakers by its own order in each. */
const heardBy = (words: True[], names: Record<string, string>[], more: Partial<Heard>[] = []) =>
  twoWindows(cut, duration).map((window, n) => ({
    window,
    heard: {
      ...hear(words, window, (word) => ({ ...word, speaker: names[n]?.[word.speaker ?? ''] ?? '?' })),
      ...more[n],
    },
  }));

describe('speakers over windows', () => {
  test('are matched by who speaks at the same time in the audio that both windows have', () => {
    const words = turns('ABABCABCABABABC', 75_000);
    const found = assembled(
      heardBy(words, [
        { A: '0', B: '1', C: '2' },
        { A: '2', B: '0', C: '1' },
      ]),
    );
    assert.deepEqual(labelsOf(found), { A: 'S1', B: 'S2', C: 'S3' });
  });

  test('are matched for any order of turns and any labels, when each speaks in that audio', () => {
    const order = fc.shuffledSubarray(['A', 'B', 'C', 'D'], { minLength: 4, maxLength: 4 });
    const labels = fc.shuffledSubarray(['0', '1', '2', '3'], { minLength: 4, maxLength: 4 });
    fc.assert(
      fc.property(fc.array(order, { minLength: 12, maxLength: 12 }), labels, labels, (rounds, first, second) => {
        const words = turns(rounds.flat().join(''), 5_000);
        const names = [first, second].map((own) => Object.fromEntries(own.map((label, n) => ['ABCD'[n], label])));
        const labelled = Object.values(labelsOf(assembled(heardBy(words, names))));
        assert.deepEqual(labelled.toSorted(), ['S1', 'S2', 'S3', 'S4']);
      }),
    );
  });

  test('a speaker that begins after the shared audio is new', () => {
    const words = [...turns('AAAAAAAAAAAA', 75_000), ...turns('C', 150_000)];
    const found = assembled(heardBy(words, [{ A: '0' }, { A: '1', C: '0' }]));
    assert.deepEqual(labelsOf(found), { A: 'S1', C: 'S2' });
  });

  test('a speaker that is silent in the shared audio is the one that is left of two, and new when more are', () => {
    const two = [...turns('B', 10_000), ...turns('AAAAAAAAAA', 80_000), ...turns('B', 150_000)];
    assert.deepEqual(
      labelsOf(
        assembled(
          heardBy(two, [
            { A: '0', B: '1' },
            { A: '1', B: '0' },
          ]),
        ),
      ),
      { A: 'S2', B: 'S1' },
    );
    const three = [...turns('BC', 10_000), ...turns('AAAAAAAAAA', 80_000), ...turns('BC', 150_000)];
    const names = [
      { A: '0', B: '1', C: '2' },
      { A: '1', B: '0', C: '2' },
    ];
    assert.deepEqual(labelsOf(assembled(heardBy(three, names))), { A: 'S3', B: 'S1+S4', C: 'S2+S5' });
  });

  test('are matched by voice first, also one that is silent in the shared audio, and vectors stay inside', () => {
    const words = [...turns('BC', 10_000), ...turns('AAAAAAAAAA', 80_000), ...turns('BC', 150_000)];
    const names = [
      { A: '0', B: '1', C: '2' },
      { A: '1', B: '0', C: '2' },
    ];
    const voices = [
      { embeddings: { 0: [0.111, 0, 0], 1: [0, 1, 0], 2: [0, 0, 1] } },
      { embeddings: { 1: [2, 0.1, 0], 0: [0, 3, 0.1], 2: [0.1, 0, 0.5] } },
    ];
    const found = assembled(heardBy(words, names, voices));
    assert.deepEqual(labelsOf(found), { A: 'S3', B: 'S1', C: 'S2' });
    assert.doesNotMatch(JSON.stringify(found), /vector|embedding|0\.111/);
  });

  test('voices of a cosine under 0.6 are two people, though one alone is left', () => {
    const words = [...turns('B', 10_000), ...turns('AAAAAAAAAA', 80_000), ...turns('C', 150_000)];
    const names = [
      { A: '0', B: '1' },
      { A: '1', C: '0' },
    ];
    const voice = (cosine: number) => [
      { embeddings: { 0: [1, 0, 0], 1: [0, 1, 0] } },
      { embeddings: { 1: [1, 0, 0], 0: [0, cosine, Math.sqrt(1 - cosine ** 2)] } },
    ];
    assert.deepEqual(labelsOf(assembled(heardBy(words, names, voice(0.59)))), { A: 'S2', B: 'S1', C: 'S3' });
    assert.deepEqual(labelsOf(assembled(heardBy(words, names, voice(0.61)))), { A: 'S2', B: 'S1', C: 'S1' });
  });

  test('labels that a provider calls global are believed in every window', () => {
    const words = [...turns('BC', 10_000), ...turns('AAAAAAAAAA', 80_000), ...turns('BC', 150_000)];
    const names = { A: 'x', B: 'y', C: 'z' };
    const isGlobal = { speakersAreGlobal: true };
    const found = assembled(heardBy(words, [names, names], [isGlobal, isGlobal]));
    assert.deepEqual(labelsOf(found), { A: 'S3', B: 'S1', C: 'S2' });
    const apart = assembled(heardBy(words, [names, { A: 'u', B: 'v', C: 'w' }], [isGlobal, isGlobal]));
    assert.deepEqual(labelsOf(apart), { A: 'S3+S4', B: 'S1+S5', C: 'S2+S6' });
  });

  test('a track without labels has one speaker, and the microphone has the user whatever the provider says', () => {
    const words = turns('ABAB', 90_000);
    const windows = twoWindows(cut, duration);
    const silent = windows.map((window) => ({
      window,
      heard: hear(words, window, ({ text, startMs, endMs }) => ({ text, startMs, endMs })),
    }));
    assert.equal(assembled(silent).speakers.length, 1);
    const mic = heardBy(turns('ABAB', 85_500), [
      { A: '0', B: '1' },
      { A: '1', B: '0' },
    ]);
    const both = assemble({
      durationMs: duration,
      tracks: [
        { track: 'mic', windows: mic },
        { track: 'system', windows: silent },
      ],
    });
    assert.deepEqual(
      both.speakers.map(({ label, isSelf }) => [label, isSelf]),
      [
        ['S1', true],
        ['S2', false],
      ],
    );
    assert.equal(
      both.speakers.reduce((sum, { talkMs }) => sum + talkMs, 0),
      both.utterances.reduce((sum, { startMs, endMs }) => sum + endMs - startMs, 0),
    );
  });
});

describe('40 scripted recordings', () => {
  test('of 2 or 3 speakers, or of more whose voices the provider gives, gain no more than 0.5 points of diarization error', () => {
    let sum = 0;
    for (let n = 0; n < 40; n += 1) {
      const hasVoices = n % 2 === 1;
      const count = hasVoices ? 4 + (n % 3) : 2 + (n % 3 === 0 ? 1 : 0);
      const recording = scripted(n * 77 + 1, count, n % 4 < 2 ? 4_000 : 10_000, { hasVoices });
      sum += errorOf(assemble({ durationMs: recording.durationMs, tracks: [recording] }));
    }
    assert.ok(sum / 40 <= 0.5, `${sum / 40} points`);
  });
});
