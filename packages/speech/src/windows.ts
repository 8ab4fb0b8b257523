import type { Silence, Window } from './types.ts';

/** Longest audio that a provider gets at once (spec 1, Limits: transcription window). */
const longestMs = 15 * 60_000;
/** Audio before and after the core: words at the border are heard whole, and speakers are matched by it. */
const contextMs = 20_000;
/** A cut may lie so much later than even windows would have it, and so much earlier than the latest place that is allowed. */
const laterMs = 60_000;
const searchedMs = 180_000;
/** Recordings end after 3 h; what is longer than this is a lie, and is cut off. */
const longestRecordingMs = 7 * 86_400_000;

/**
 * Windows of a recording, in order. Each cut lies in the middle of the longest silence near the end of what fits, or without
 * silence at the latest place. Windows are about equally long, so the last one is never tiny.
 * A duration that is no positive number has no windows.
 */
export function planWindows(durationMs: number, silences: readonly Silence[]): Window[] {
  const total = Number.isNaN(durationMs) ? 0 : Math.round(Math.min(durationMs, longestRecordingMs));
  if (total <= 0) return [];
  const quiet = merged(silences, total);
  const cuts: number[] = [0];
  let next = 0;
  for (let at = 0; needed(at, total) > 1; ) {
    const even = (total - at) / needed(at, total);
    const latest = Math.floor(Math.min(at + coreOf(at), at + even + laterMs));
    const earliest = latest - searchedMs;
    while (next < quiet.length && (quiet[next]?.endMs ?? 0) <= earliest) next += 1;
    at = bestCut(quiet, next, earliest, latest);
    cuts.push(at);
  }
  return cuts.map((startMs, n) => {
    const endMs = cuts[n + 1] ?? total;
    const toMs = Math.min(total, endMs + contextMs);
    return { n, startMs, endMs, fromMs: Math.max(0, startMs - contextMs), toMs };
  });
}

/** Sound in what is called a silence, milliseconds: a click, a cough. */
const mostSoundMs = 300;

/** Whether nothing louder than the silences of its track sounds in a window; a voice far from its microphone may. */
export function isQuiet(window: Window, silences: readonly Silence[], durationMs: number): boolean {
  const { fromMs, toMs } = window;
  const quietMs = merged(silences, durationMs).reduce(
    (all, { startMs, endMs }) => all + Math.max(0, Math.min(endMs, toMs) - Math.max(startMs, fromMs)),
    0,
  );
  return toMs - fromMs - quietMs <= mostSoundMs;
}

/** Longest core of a window that begins at `at` and has another after it. */
const coreOf = (at: number): number => longestMs - contextMs - Math.min(at, contextMs);

/** Least number of windows for what begins at `at`. */
function needed(at: number, total: number): number {
  const left = total - at;
  if (left + Math.min(at, contextMs) <= longestMs) return 1;
  const inner = longestMs - 2 * contextMs;
  // The last window has context on one side only.
  return 1 + Math.max(1, Math.ceil((left - coreOf(at) - contextMs) / inner));
}

function bestCut(quiet: readonly Silence[], first: number, earliest: number, latest: number): number {
  let longest = 0;
  let cut = latest;
  for (let n = first; n < quiet.length; n += 1) {
    const { startMs, endMs } = quiet[n] as Silence;
    if (startMs >= latest) break;
    const from = Math.max(startMs, earliest);
    const to = Math.min(endMs, latest);
    if (to - from >= longest && to > from) {
      longest = to - from;
      cut = Math.floor((from + to) / 2);
    }
  }
  return cut;
}

/** Silences in order, those that touch joined, what is no stretch of time left out. */
function merged(silences: readonly Silence[], total: number): Silence[] {
  const sorted = silences
    .map(({ startMs, endMs }) => ({ startMs: Math.max(0, startMs), endMs: Math.min(total, endMs) }))
    .filter(({ startMs, endMs }) => endMs > startMs)
    .sort((a, b) => a.startMs - b.startMs);
  const joined: Silence[] = [];
  for (const silence of sorted) {
    const last = joined.at(-1);
    if (last && silence.startMs <= last.endMs) last.endMs = Math.max(last.endMs, silence.endMs);
    else joined.push(silence);
  }
  return joined;
}
