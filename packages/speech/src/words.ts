import { inOrder, type Timed } from './order.ts';
import { wordsIn } from './text.ts';
import type { Heard, HeardWindow, HeardWord, PlacedWord, TrackHeard, Window } from './types.ts';

/** Windows that are read of a track; a recording of 3 h has 13. */
const mostWindows = 1_000;
/** More words than this in a window are left out: 15 min of fast speech are 4,000. */
const mostWords = 100_000;
/** Labels of speakers in a window; the words of further ones count as their neighbours'. */
const mostSpeakers = 50;
/** A word ends after this. */
const longestWordMs = 30_000;

/** The windows of a track by time, with their repaired words. */
export const repairedWindows = (windows: TrackHeard['windows']): HeardWindow[] =>
  windows
    .slice(0, mostWindows)
    .toSorted((a, b) => a.window.startMs - b.window.startMs)
    .map(({ window, heard }) => ({ window, heard, words: repaired(heard, window) }));

/**
 * Words of a text whose provider gave only the times of a segment. Each gets a part of [startMs, endMs] that fits its
 * length, and is marked `estimated`. A text without words gives none. Where the start is no number the words have no
 * times either; an end that is none counts as the start.
 */
export function estimateWords(
  text: string,
  startMs: number,
  endMs: number,
  more: { speaker?: string; confidence?: number } = {},
): HeardWord[] {
  const words = wordsIn(text);
  const start = finite(startMs);
  if (start === undefined)
    return words.map((word) => ({ text: word, startMs: Number.NaN, endMs: Number.NaN, ...more, estimated: true }));
  const length = Math.max(start, finite(endMs) ?? start) - start;
  // Each word has a unit more than its letters: short ones take longer than letters say.
  const total = words.reduce((sum, word) => sum + word.length + 1, 0);
  let before = 0;
  return words.map((word) => {
    const from = Math.round(start + (length * before) / total);
    before += word.length + 1;
    return {
      text: word,
      startMs: from,
      endMs: Math.round(start + (length * before) / total),
      ...more,
      estimated: true,
    };
  });
}

/** A stretch of speech whose provider gave only the times of the whole. */
interface HeardSegment {
  text: string;
  startMs: number;
  endMs: number;
  speaker?: string;
  confidence?: number;
}

/**
 * Segments at times that hold together, in the provider's order: one ends where the next one of its speaker begins. One
 * whose end is minutes too late, or whose start jumps back, would lay its words among those of others.
 */
export function segmentsInOrder<T extends HeardSegment>(segments: readonly T[]): T[] {
  // Without times they are left without: who has the audio spreads them over it, and says so.
  if (segments.filter(({ startMs }) => Number.isFinite(startMs)).length * 2 < segments.length) return [...segments];
  const times = bySpeaker(segments, ({ text }) => wordsIn(text).length);
  return segments.map((segment, n) => {
    const { startMs, endMs } = times[n] as Timed;
    return { ...segment, startMs, endMs };
  });
}

/**
 * The same words over the whole of [0, durationMs), in their order, each by its length: for an answer whose times are
 * not those of its audio. All are marked `estimated`.
 */
export function spreadWords(words: readonly HeardWord[], durationMs: number): HeardWord[] {
  const total = words.reduce((sum, { text }) => sum + text.length + 1, 0);
  let before = 0;
  const at = (): number => Math.round((durationMs * before) / Math.max(1, total));
  return words.map((word) => {
    const startMs = at();
    before += word.text.length + 1;
    return { ...word, startMs, endMs: at(), estimated: true };
  });
}

/** The times of each, in order by speaker: what two speakers say may overlap. */
function bySpeaker<T extends HeardWord | HeardSegment>(said: readonly T[], wordsOf: (one: T) => number): Timed[] {
  const times: Timed[] = [];
  for (const own of Map.groupBy(said.keys(), (n) => said[n]?.speaker).values()) {
    const timed = inOrder(
      own.map((n) => {
        const one = said[n] as T;
        return { startMs: finite(one.startMs), endMs: finite(one.endMs), words: wordsOf(one) };
      }),
    );
    for (const [at, n] of own.entries()) times[n] = timed[at] as Timed;
  }
  return times;
}

/**
 * The words of a window at their place in the recording: bounded, none empty, those of one speaker in the order in
 * which the provider says them, with times that do not go back. What a speaker says in one go stays together, in the
 * order of starts. A "word" that holds several is spread as a segment.
 */
export function repaired(heard: Heard, window: Window): PlacedWord[] {
  const fromMs = Math.max(0, Math.round(finite(window.fromMs) ?? 0));
  const length = Math.max(0, Math.round(finite(window.toMs) ?? 0) - fromMs);
  const bound = (at: number): number => Math.min(length, Math.max(0, Math.round(at)));
  const given = heard.words.slice(0, mostWords).map((word) => ({ ...word, speaker: labelOf(word) }) as HeardWord);
  const times = bySpeaker(given, () => 1);
  const placed: PlacedWord[] = [];
  for (const [n, word] of given.entries()) {
    if (placed.length >= mostWords) break;
    const { startMs, endMs, moved } = times[n] as Timed;
    const start = bound(startMs);
    const parts = estimateWords(word.text, start, bound(Math.min(startMs + longestWordMs, Math.max(start, endMs))));
    const confidence = finite(word.confidence);
    const more = {
      confidence: confidence === undefined ? null : Math.min(1, Math.max(0, confidence)),
      estimated: word.estimated === true || moved || parts.length > 1,
      speaker: word.speaker,
    };
    for (const { text, startMs, endMs } of parts.slice(0, mostWords - placed.length)) {
      placed.push({ text, startMs: startMs + fromMs, endMs: endMs + fromMs, ...more });
    }
  }
  return inTurns(withSpeakers(placed));
}

const labelOf = ({ speaker }: HeardWord): string | undefined =>
  typeof speaker === 'string' && speaker !== '' ? speaker : undefined;

/** What each speaker says in one go, by its start. Words of two who speak at once do not stand among each other. */
function inTurns(words: readonly PlacedWord[]): PlacedWord[] {
  const turns: PlacedWord[][] = [];
  for (const word of words) {
    const turn = turns.at(-1);
    if (turn && turn[0]?.speaker === word.speaker) turn.push(word);
    else turns.push([word]);
  }
  return turns.sort((a, b) => (a[0]?.startMs ?? 0) - (b[0]?.startMs ?? 0)).flat();
}

/** Words without a label in a window that has labels belong to the speaker before them. */
function withSpeakers(words: PlacedWord[]): PlacedWord[] {
  const counts = new Map<string, number>();
  for (const { speaker } of words) if (speaker !== undefined) counts.set(speaker, (counts.get(speaker) ?? 0) + 1);
  const most = [...counts].sort((a, b) => b[1] - a[1]).slice(0, mostSpeakers);
  const kept = new Set(most.map(([label]) => label));
  const isKept = ({ speaker }: PlacedWord): boolean => speaker !== undefined && kept.has(speaker);
  let last = words.find(isKept)?.speaker;
  for (const word of words) {
    if (isKept(word)) last = word.speaker;
    else word.speaker = last;
  }
  return words;
}

/** A number, or undefined for NaN, infinities and what is no number. */
const finite = (value: number | undefined): number | undefined => (Number.isFinite(value) ? value : undefined);
