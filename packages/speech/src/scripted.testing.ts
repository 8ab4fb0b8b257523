import { hear, type True } from './assemble.testing.ts';
import { assign } from './assignment.ts';
import { type Assembled, type Heard, type HeardWord, planWindows, type RollClip, type TrackHeard } from './index.ts';

/** A recording with its truth, and what a provider heard in its windows. The text of a word is its true speaker. */
export interface Scripted extends TrackHeard {
  durationMs: number;
  words: True[];
  /** Numbers of this recording, 0..1. */
  random: () => number;
}

/** How a provider errs: nothing, or as real ones do (`clumsy`). */
export interface Provider {
  hasVoices?: boolean;
  isClumsy?: boolean;
  minutes?: number;
}

/** A recording of 45 min with a provider that hears every word and labels speakers anew in each window. */
export function scripted(seed: number, count: number, turnMs: number, provider: Provider = {}): Scripted {
  let state = seed;
  const random = (): number => (state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32) / 2 ** 32;
  const durationMs = (provider.minutes ?? 45) * 60_000;
  const words: True[] = [];
  let speaker = 0;
  for (let at = 1_000; at < durationMs - 60_000; at += 200 + random() * 600) {
    // The first speak most.
    const next = Math.floor(count * random() ** 1.5);
    speaker = next === speaker ? (next + 1) % count : next;
    const end = at + Math.max(600, -Math.log(1 - random()) * turnMs);
    while (at < end) {
      const length = 150 + random() * 300;
      words.push({
        text: `${speaker}`,
        speaker: `${speaker}`,
        startMs: Math.round(at),
        endMs: Math.round(at + length),
      });
      at += length + 30 + random() * 100;
    }
  }
  const gaps = words.slice(1).map(({ startMs }, n) => ({ startMs: words[n]?.endMs ?? 0, endMs: startMs }));
  const silences = gaps.filter(({ startMs, endMs }) => endMs - startMs > 200);
  const moved = (at: number): number => at + Math.round(100 * random() - 50);
  const windows = planWindows(durationMs, silences).map((window) => {
    const { labelOf, labels } = labelling(random, count, provider.isClumsy === true);
    const heard: Heard = hear(words, window, (word) => ({
      ...word,
      speaker: labelOf(word),
      startMs: moved(word.startMs),
      endMs: moved(word.endMs),
    }));
    const voiceOf = (truth: string): number[] =>
      Array.from({ length: 16 }, (_, n) => (n === Number(truth) ? 1 : 0) + 0.3 * (random() - 0.5));
    if (provider.hasVoices) {
      heard.embeddings = Object.fromEntries([...labels].map(([truth, label]) => [label, voiceOf(truth)]));
    }
    return { window, heard };
  });
  return { track: 'system', windows, durationMs, words, random };
}

/**
 * Labels of one piece of audio, numbered as they come. A clumsy provider gives the first word of every tenth turn to the one
 * before, and every fiftieth turn to somebody else; in every fifth piece it takes one speaker for two, and in every tenth two
 * for one.
 */
function labelling(random: () => number, count: number, isClumsy: boolean) {
  const labels = new Map<string, string>();
  const label = (truth: string): string => {
    if (!labels.has(truth)) labels.set(truth, `${labels.size}`);
    return labels.get(truth) ?? '';
  };
  if (!isClumsy) return { labels, labelOf: ({ speaker = '' }: HeardWord): string => label(speaker) };
  const any = (): string => `${Math.floor(random() * count)}`;
  const split = random() < 0.2 ? any() : undefined;
  const merged = random() < 0.1 ? { from: any(), to: any() } : undefined;
  let [truth, given, last] = ['', '', ''];
  const labelOf = ({ speaker = '' }: HeardWord): string => {
    if (speaker !== truth) {
      [truth, last] = [speaker, given];
      given = random() < 0.02 ? any() : speaker;
      if (given === merged?.from) given = merged.to;
      if (given === split && random() < 0.4) given = `${given}'`;
      if (last !== '' && random() < 0.1) return label(last);
    }
    return label(given);
  };
  return { labels, labelOf };
}

/** A provider's answer for a roll: the words of its clips, with labels that are valid over all of them. */
export function hearRoll(recording: Scripted, clips: readonly RollClip[], count: number, isClumsy: boolean): Heard {
  const { random } = recording;
  const { labelOf } = labelling(random, count, isClumsy);
  const words = clips.flatMap(({ startMs, endMs, atMs }) => {
    // Short clips are harder.
    const isLost = isClumsy && endMs - startMs < 1_000 && random() < 0.2;
    return recording.words
      .filter((word) => word.endMs > startMs && word.startMs < endMs)
      .map((word) => ({
        text: word.text,
        speaker: labelOf(isLost ? { ...word, speaker: `${Math.floor(random() * count)}` } : word),
        startMs: Math.max(word.startMs, startMs) - startMs + atMs,
        endMs: Math.min(word.endMs, endMs) - startMs + atMs,
      }));
  });
  return { words };
}

/**
 * The recording as a provider would have labelled it that knows speakers over windows, and errs in each as before: its labels
 * are one to one with speakers, and one that is left over is nobody else's.
 */
export function inTruth(recording: Scripted): TrackHeard {
  const windows = recording.windows.map(({ window, heard }) => {
    const talk = new Map<string, number[]>();
    for (const { speaker = '', text, startMs, endMs } of heard.words) {
      const row = talk.get(speaker) ?? Array.from({ length: 8 }, () => 0);
      talk.set(speaker, row);
      row[Number(text)] = (row[Number(text)] ?? 0) + endMs - startMs;
    }
    const found = assign([...talk.values()]);
    const truths = new Map([...talk.keys()].map((label, row) => [label, found[row]]));
    const truth = (label = ''): string =>
      (truths.get(label) ?? -1) < 0 ? `${window.n}:${label}` : `${truths.get(label)}`;
    const words = heard.words.map((word) => ({ ...word, speaker: truth(word.speaker) }));
    return { window, heard: { words, speakersAreGlobal: true } };
  });
  return { track: recording.track, windows };
}

/** Share of the time of words whose label is not that of their speaker, at the best mapping of labels to speakers, in percent. */
export function errorOf({ utterances }: Assembled): number {
  const times = new Map<string, number[]>();
  let total = 0;
  for (const { speaker, words } of utterances) {
    const row = times.get(speaker) ?? Array.from({ length: 8 }, () => 0);
    times.set(speaker, row);
    for (const { text, startMs, endMs } of words) {
      row[Number(text)] = (row[Number(text)] ?? 0) + endMs - startMs;
      total += endMs - startMs;
    }
  }
  const rows = [...times.values()];
  const right = assign(rows).reduce((sum, column, row) => sum + (rows[row]?.[column] ?? 0), 0);
  return (100 * (total - right)) / total;
}
