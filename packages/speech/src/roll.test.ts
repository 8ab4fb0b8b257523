import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { assemble, type Heard, planRoll, type RollClip } from './index.ts';
import { errorOf, hearRoll, inTruth, type Scripted, scripted } from './scripted.testing.ts';

const recordingOf = (own: Scripted) => ({ durationMs: own.durationMs, tracks: [own] });
const turnMs = (n: number): number => (n % 4 < 2 ? 4_000 : 10_000);

/** Points of error with a roll that a provider heard, without one, and of the provider itself. */
function errors(own: Scripted, heardOf: (clips: RollClip[]) => Heard) {
  const recording = recordingOf(own);
  const clips = planRoll(recording);
  return {
    clips,
    rolled: errorOf(assemble({ ...recording, roll: { clips, heard: heardOf(clips) } })),
    without: errorOf(assemble(recording)),
    own: errorOf(assemble({ ...recording, tracks: [inTruth(own)] })),
  };
}

describe('40 scripted recordings of 2 to 8 speakers without voice vectors', () => {
  test('gain no more than 0.5 points of diarization error, from a provider that hears everything', () => {
    for (let n = 0; n < 40; n += 1) {
      const count = 2 + (n % 7);
      const own = scripted(n * 77 + 1, count, turnMs(n));
      const { rolled } = errors(own, (clips) => hearRoll(own, clips, count, false));
      assert.ok(rolled <= 0.5, `recording ${n} of ${count}: ${rolled} points`);
    }
  });

  test('gain no more than 0.5 points over the error of a provider that errs in windows and in the roll', () => {
    let [rolled, without, own] = [0, 0, 0];
    for (let n = 0; n < 40; n += 1) {
      const count = 2 + (n % 7);
      const recording = scripted(n * 77 + 1, count, turnMs(n), { isClumsy: true });
      const points = errors(recording, (clips) => hearRoll(recording, clips, count, true));
      rolled += points.rolled / 40;
      without += points.without / 40;
      own += points.own / 40;
    }
    assert.ok(rolled <= own + 0.5, `${rolled} points of ${own}`);
    assert.ok(without > own + 10, `${without} points without a roll`);
  });

  test('of 3 h gain no more than 0.5 points, with a roll of less than 15 min', () => {
    for (const count of [3, 6, 8]) {
      const own = scripted(count, count, 6_000, { minutes: 180 });
      const { rolled, clips } = errors(own, (some) => hearRoll(own, some, count, false));
      assert.ok(rolled <= 0.5, `${rolled} points`);
      const last = clips.at(-1);
      assert.ok(last && last.atMs + last.endMs - last.startMs < 15 * 60_000);
    }
  });
});

describe('a roll', () => {
  const own = scripted(5, 6, 6_000);
  const clips = planRoll(recordingOf(own));

  test('has clips in which one label speaks alone, one after the other with silences, of 60 labels at most', () => {
    const long = scripted(9, 8, 6_000, { minutes: 180 });
    for (const [recording, planned] of [
      [own, clips],
      [long, planRoll(recordingOf(long))],
    ] as const) {
      let end = -500;
      const sums = new Map<string, number>();
      for (const { track, window, speaker, startMs, endMs, atMs } of planned) {
        assert.equal(track, 'system');
        assert.equal(atMs, end + 500);
        end = atMs + endMs - startMs;
        assert.ok(endMs - startMs >= 400 && endMs - startMs <= 2_500);
        const heard = recording.windows.find((one) => one.window.n === window);
        const from = heard?.window.fromMs ?? 0;
        for (const word of heard?.heard.words ?? []) {
          const isIn = word.startMs + from < endMs && word.endMs + from > startMs;
          assert.ok(!isIn || word.speaker === speaker);
        }
        sums.set(`${window} ${speaker}`, (sums.get(`${window} ${speaker}`) ?? 0) + endMs - startMs);
      }
      assert.ok(sums.size <= 60 && sums.size > 20);
      for (const sum of sums.values()) assert.ok(sum <= 10_500);
      for (const [n, { window, speaker }] of planned.entries()) {
        const next = planned[n + 1];
        assert.ok(!next || next.window !== window || next.speaker !== speaker);
      }
    }
  });

  test('is empty when nothing is uncertain: of the microphone, one window, and labels or voices that are known over windows', () => {
    const [first] = own.windows;
    const planned = (tracks: Parameters<typeof planRoll>[0]['tracks']) =>
      planRoll({ durationMs: own.durationMs, tracks });
    assert.deepEqual(planned([{ track: 'mic', windows: own.windows }]), []);
    assert.deepEqual(planned([{ track: 'system', windows: first ? [first] : [] }]), []);
    assert.deepEqual(planned([inTruth(own)]), []);
    assert.deepEqual(planned([scripted(5, 6, 6_000, { hasVoices: true })]), []);
    assert.deepEqual(planned([]), []);
  });

  test('that is empty, says one label, another for each clip, or any, makes no recording worse', () => {
    interface Asked {
      clip: RollClip;
      n: number;
      random: () => number;
    }
    const lies: [string, (asked: Asked) => string | undefined][] = [
      ['nothing', () => undefined],
      ['one label', () => 'x'],
      ['another for each clip', ({ n }) => `${n}`],
      ['any of two', ({ random }) => `${Math.floor(2 * random())}`],
      ['any of six', ({ random }) => `${Math.floor(6 * random())}`],
      ['one for each window', ({ clip }) => `${clip.window}`],
      ['one in four seconds', ({ clip }) => `${Math.floor(clip.atMs / 4_000)}`],
    ];
    for (let n = 0; n < 7; n += 1) {
      const recording = scripted(n * 31 + 3, 2 + (n % 7), turnMs(n), { isClumsy: n % 2 === 0 });
      for (const [name, lie] of lies) {
        const { rolled, without } = errors(recording, (some) => ({
          words: some.flatMap((clip, at) => {
            const speaker = lie({ clip, n: at, random: recording.random });
            const times = { startMs: clip.atMs, endMs: clip.atMs + clip.endMs - clip.startMs };
            return speaker === undefined ? [] : [{ text: 'word', speaker, ...times }];
          }),
        }));
        assert.ok(rolled <= without + 0.01, `${name}, recording ${n}: ${rolled} points, ${without} without`);
      }
    }
  });

  test('of whatever a provider answers, and with any clips, makes a transcript of the same words', () => {
    const recording = recordingOf(scripted(2, 4, 6_000, { minutes: 20 }));
    const count = (roll?: { clips: RollClip[]; heard: Heard }): number =>
      assemble({ ...recording, ...(roll && { roll }) }).utterances.reduce((sum, { words }) => sum + words.length, 0);
    const words = count();
    const time = fc.oneof(fc.integer({ min: -1_000, max: 200_000 }), fc.constantFrom(Number.NaN, Infinity, -Infinity));
    const speaker = fc.constantFrom('0', '1', '2', '3', '', '__proto__');
    const clip = fc.record({
      track: fc.constantFrom('system' as const, 'mic' as const),
      window: fc.integer({ min: -1, max: 3 }),
      speaker,
      startMs: time,
      endMs: time,
      atMs: time,
    });
    const heard = fc.record({ words: fc.array(fc.record({ text: fc.string(), startMs: time, endMs: time, speaker })) });
    fc.assert(
      fc.property(fc.array(clip, { maxLength: 40 }), heard, (some, answer) => {
        assert.equal(count({ clips: some, heard: answer }), words);
        assert.equal(count({ clips: planRoll(recording), heard: answer }), words);
      }),
      { numRuns: 25 },
    );
  });
});
