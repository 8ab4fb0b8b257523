import { assemble, type Assembled, type Heard, type HeardWord, type TrackHeard, type Window } from './index.ts';

/** A word of the truth, at its time in the recording. */
export interface True extends HeardWord {
  /** Who speaks in truth. */
  speaker: string;
}

/** Two windows of 100 s with 20 s of context around a cut at `cut`. */
export const twoWindows = (cut: number, durationMs: number): [Window, Window] => [
  { n: 0, startMs: 0, endMs: cut, fromMs: 0, toMs: Math.min(durationMs, cut + 20_000) },
  { n: 1, startMs: cut, endMs: durationMs, fromMs: Math.max(0, cut - 20_000), toMs: durationMs },
];

/** What a provider that hears everything answers for a window: words that are in its audio for the most part. */
export function hear(
  words: readonly HeardWord[],
  window: Window,
  change: (word: HeardWord, n: number) => HeardWord = (word) => word,
): Heard {
  return {
    words: words.flatMap((word, n) => {
      const middle = (word.startMs + word.endMs) / 2;
      if (middle < window.fromMs || middle >= window.toMs) return [];
      const changed = change(word, n);
      return [{ ...changed, startMs: changed.startMs - window.fromMs, endMs: changed.endMs - window.fromMs }];
    }),
  };
}

/** Words w0, w1, … of one length, with gaps. */
export const wordsFrom = (startMs: number, texts: readonly string[], each = 300, gap = 100): HeardWord[] =>
  texts.map((text, n) => ({
    text,
    startMs: startMs + n * (each + gap),
    endMs: startMs + n * (each + gap) + each,
  }));

/** A track of one window. */
export const track = (kind: TrackHeard['track'], words: HeardWord[], durationMs = 600_000): TrackHeard => ({
  track: kind,
  windows: [{ window: { n: 0, startMs: 0, endMs: durationMs, fromMs: 0, toMs: durationMs }, heard: { words } }],
});

/** The transcript of one track of one window. */
export const ofWords = (words: HeardWord[], more: Partial<Parameters<typeof assemble>[0]> = {}): Assembled =>
  assemble({ durationMs: 600_000, tracks: [track('mixed', words)], ...more });

export const textsOf = ({ utterances }: Assembled): string[] =>
  utterances.flatMap(({ words }) => words.map(({ text }) => text));
