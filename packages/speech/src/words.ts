import { wordsIn } from './text.ts';
import type { Heard, HeardWindow, HeardWord, PlacedWord, TrackHeard, Window } from './types.ts';

/** Windows that are read of a track; a recording of 3 h has 13. */
const mostWindows = 1_000;
/** More words than this in a window are left out: 15 min of fast speech are 4,000. */
const mostWords = 100_000;
/** Labels of speakers in a window; the words of further ones count as their neighbours'. */
const mostSpeakers = 50;
/** A word ends after this, and one whose end is unknown after the second. */
const longestWordMs = 30_000;
const usualWordMs = 300;

/** The windows of a track by time, with their repaired words. */
export const repairedWindows = (windows: TrackHeard['windows']): HeardWindow[] =>
  windows
    .slice(0, mostWindows)
    .toSorted((a, b) => a.window.startMs - b.window.startMs)
    .map(({ window, heard }) => ({ window, heard, words: repaired(heard, window) }));

/**
 * Words of a text whose provider gave only the times of a segment. Each gets a part of [startMs, endMs] that fits its length,
 * and is marked `estimated`. A text without words gives none; times that are no numbers count as 0.
 */
export function estimateWords(
  text: string,
  startMs: number,
  endMs: number,
  more: { speaker?: string; confidence?: number } = {},
): HeardWord[] {
  const words = wordsIn(text);
  const start = finite(startMs) ?? 0;
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

/**
 * The words of a window at their place in the recording: bounded, sorted by start, none empty. A word without a time stands
 * after the one that the provider named before it. A "word" that holds several is spread as a segment.
 */
export function repaired(heard: Heard, window: Window): PlacedWord[] {
  const fromMs = Math.max(0, Math.round(finite(window.fromMs) ?? 0));
  const length = Math.max(0, Math.round(finite(window.toMs) ?? 0) - fromMs);
  const bound = (at: number): number => Math.min(length, Math.max(0, Math.round(at)));
  const placed: PlacedWord[] = [];
  let before = 0;
  for (const word of heard.words) {
    if (placed.length >= mostWords) break;
    const given = finite(word.startMs);
    const start = bound(given ?? before);
    const end = bound(Math.min(start + longestWordMs, Math.max(start, finite(word.endMs) ?? start + usualWordMs)));
    const parts = estimateWords(word.text, start, end);
    if (parts.length === 0) continue;
    before = end;
    const confidence = finite(word.confidence);
    const more = {
      confidence: confidence === undefined ? null : Math.min(1, Math.max(0, confidence)),
      estimated: word.estimated === true || given === undefined || parts.length > 1,
      speaker: typeof word.speaker === 'string' && word.speaker !== '' ? word.speaker : undefined,
    };
    for (const { text, startMs, endMs } of parts.slice(0, mostWords - placed.length)) {
      placed.push({ text, startMs: startMs + fromMs, endMs: endMs + fromMs, ...more });
    }
  }
  placed.sort((a, b) => a.startMs - b.startMs || a.endMs - b.endMs);
  return withSpeakers(placed);
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
