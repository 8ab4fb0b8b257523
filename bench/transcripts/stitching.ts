import { assemble, type Assembled, planRoll } from '@svc/speech';
import { errorOf, hearRoll, inTruth, type Scripted, scripted } from '../../packages/speech/src/scripted.testing.ts';
import { atMost, type Findings, type Row } from '../lib/report.ts';
import { median } from '../lib/stats.ts';

const mean = (figures: readonly number[]): number => figures.reduce((sum, one) => sum + one, 0) / figures.length;

/** What stitching adds to the errors of a provider that labels speakers anew in each window: 40 recordings of 45 min. */
export function measureStitching(): Findings {
  const rows: Row[] = [];
  const added = { exact: Number.NaN, clumsy: Number.NaN };
  const words: number[] = [];
  for (const kind of ['exact', 'clumsy'] as const) {
    const isClumsy = kind === 'clumsy';
    const found = Array.from({ length: 40 }, (_, n) => {
      const count = 2 + (n % 7);
      const own = scripted(n * 77 + 1, count, n % 4 < 2 ? 4_000 : 10_000, { isClumsy });
      const recording = { durationMs: own.durationMs, tracks: [own] };
      const clips = planRoll(recording);
      const roll = { clips, heard: hearRoll(own, clips, count, isClumsy) };
      const began = performance.now();
      const whole = assemble({ ...recording, roll });
      const ms = performance.now() - began;
      words.push(wordErrorOf(own));
      const truth = errorOf(assemble({ ...recording, tracks: [inTruth(own)] }));
      return { ms, rolled: errorOf(whole) - truth, without: errorOf(assemble(recording)) - truth };
    });
    added[kind] = mean(found.map(({ rolled }) => rolled));
    rows.push({
      what: `stitching of 45 min, 2 to 8 speakers, ${kind} provider`,
      'p50 ms': median(found.map(({ ms }) => ms)),
      besides: `speakers: ${added[kind].toFixed(2)} points more errors, ${mean(found.map(({ without }) => without)).toFixed(2)} without a roll`,
    });
  }
  return {
    rows,
    targets: [
      atMost('words lost, doubled or moved by stitching, %', mean(words), 0),
      atMost('points of diarization error more, exact provider', added.exact, 0.5),
      atMost('points of diarization error more, clumsy provider', added.clumsy, 0.5),
    ],
  };
}

/** Words that are missing, come twice or stand in another place after stitching, of those that were said, in percent. */
function wordErrorOf({ words, windows, durationMs }: Scripted): number {
  const middles = words.map(({ startMs, endMs }) => (startMs + endMs) / 2);
  const numbered = windows.map(({ window, heard }) => {
    const first = middles.findIndex((middle) => middle >= window.fromMs);
    return { window, heard: { ...heard, words: heard.words.map((word, n) => ({ ...word, text: `w${first + n}` })) } };
  });
  const { utterances }: Assembled = assemble({ durationMs, tracks: [{ track: 'system', windows: numbered }] });
  const heard = utterances.flatMap((one) => one.words.map(({ text }) => Number(text.slice(1))));
  const known = new Set(heard).size;
  const moved = heard.filter((place, n) => place < (heard[n - 1] ?? -1)).length;
  return (100 * (words.length - known + heard.length - known + moved)) / words.length;
}
