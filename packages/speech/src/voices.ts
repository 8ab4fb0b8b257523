import { assign } from './assignment.ts';
import type { HeardWindow, PlacedWord } from './types.ts';

/** Voices are one speaker from this cosine similarity on. */
const leastSimilarity = 0.6;
/** Speakers of two windows are one when they spoke together for so long, and for so much of what the quieter one said there. */
const leastTogetherMs = 100;
const leastTogetherShare = 0.3;
/** From here on that is certain. */
const sureTogetherMs = 1_000;
const sureTogetherShare = 0.7;
/** Voices of earlier windows that a window is compared with, and numbers of a vector that are read. */
const mostVoices = 200;
const mostDimensions = 4_096;

/** A speaker of a track. */
export interface Voice {
  /** The label that means this speaker in all windows whose labels are global. */
  global: string | undefined;
  /** Sum of the unit vectors heard so far. It lives as long as `assemble` runs. */
  vector: number[] | undefined;
}

/** Who each label of a window is. The label of words without a speaker is undefined. */
export type Names = Map<string | undefined, Voice>;

/**
 * The speakers of a track's windows: for each window, who its labels are. Labels that are global are believed. Others are
 * joined by voice vectors, then by who spoke at the same time in the audio that neighbours share, both one to one with the
 * best sum. One that is left over in each of two neighbours with as many speakers, and silent in that audio, is the same.
 * Everybody else is new. Words without a label, in windows that name nobody, are one speaker of the track.
 */
export function matchVoices(windows: readonly HeardWindow[]): Match[] {
  const nobody: Voice = { global: undefined, vector: undefined };
  const known: Known = { voices: [], byLabel: new Map() };
  let before: { window: HeardWindow; names: Names } | undefined;
  return windows.map((window) => {
    const names: Names = new Map([[undefined, nobody]]);
    const labels = [...new Set(window.words.map(({ speaker }) => speaker))].filter((label) => label !== undefined);
    const sure = new Set<string>();
    const ask = { window, names, labels, sure, isGlobal: window.heard.speakersAreGlobal === true };
    if (ask.isGlobal) byLabel(ask, known);
    byVoice(ask, known);
    if (before) byOverlap(ask, before);
    for (const label of open(ask)) {
      const voice: Voice = { global: undefined, vector: undefined };
      known.voices.push(voice);
      names.set(label, voice);
    }
    remember(ask, known);
    before = { window, names };
    return { names, sure };
  });
}

/** The speakers of a window. */
export interface Match {
  names: Names;
  /** Labels that are certainly a speaker of an earlier window. */
  sure: ReadonlySet<string>;
}

interface Known {
  voices: Voice[];
  byLabel: Map<string, Voice>;
}

interface Ask {
  window: HeardWindow;
  names: Names;
  labels: readonly string[];
  sure: Set<string>;
  isGlobal: boolean;
}

const open = ({ labels, names }: Ask): string[] => labels.filter((label) => !names.has(label));

/** Voices that a label of the window may still be: nobody's yet, and without another global label. */
function free({ names, isGlobal }: Ask, voices: readonly Voice[]): Voice[] {
  const taken = new Set(names.values());
  return voices.filter((voice) => !taken.has(voice) && !(isGlobal && voice.global !== undefined));
}

function byLabel({ labels, names, sure }: Ask, known: Known): void {
  for (const label of labels) {
    const voice = known.byLabel.get(label);
    if (!voice) continue;
    names.set(label, voice);
    sure.add(label);
  }
}

function byVoice(ask: Ask, known: Known): void {
  const labels = open(ask).filter((label) => vectorOf(ask.window, label) !== undefined);
  const voices = free(ask, known.voices)
    .filter(({ vector }) => vector !== undefined)
    .slice(-mostVoices);
  const weights = labels.map((label) => {
    const vector = vectorOf(ask.window, label) ?? [];
    return voices.map((voice) => {
      const similarity = cosine(vector, voice.vector ?? []);
      return similarity >= leastSimilarity ? similarity : 0;
    });
  });
  give(ask, labels, voices, assign(weights));
  for (const label of labels) if (ask.names.has(label)) ask.sure.add(label);
}

function byOverlap(ask: Ask, before: { window: HeardWindow; names: Names }): void {
  const from = ask.window.window.fromMs;
  const to = before.window.window.toMs;
  const now = talkOf(ask.window.words, from, to);
  const then = talkOf(before.window.words, from, to);
  const labelOf = new Map([...before.names].map(([label, voice]) => [voice, label]));
  const talkThen = (voice: Voice): Talk => then.get(labelOf.get(voice)) ?? nothing;
  const labels = open(ask);
  const named = [...before.names].flatMap(([label, voice]) => (label === undefined ? [] : [voice]));
  const voices = free(ask, named);
  const weights = labels.map((label) => {
    const talk = now.get(label) ?? nothing;
    return voices.map((voice) => (isApart(ask.window, label, voice) ? 0 : together(talk, talkThen(voice))));
  });
  give(ask, labels, voices, assign(weights));
  for (const label of labels) {
    const voice = ask.names.get(label);
    const [talk, other] = [now.get(label) ?? nothing, voice ? talkThen(voice) : nothing];
    const least = Math.max(sureTogetherMs, sureTogetherShare * Math.max(talk.total, other.total));
    if (voice && together(talk, other) >= least) ask.sure.add(label);
  }
  const [label, ...labelsLeft] = open(ask);
  const [voice, ...voicesLeft] = free(ask, named);
  if (label === undefined || voice === undefined || labelsLeft.length + voicesLeft.length > 0) return;
  const isSilent = !now.has(label) && talkThen(voice).total === 0;
  if (isSilent && ask.labels.length === named.length && !isApart(ask.window, label, voice)) ask.names.set(label, voice);
}

/** Whether vectors say that these are two people. */
function isApart(window: HeardWindow, label: string, voice: Voice): boolean {
  const vector = vectorOf(window, label);
  return vector !== undefined && voice.vector !== undefined && cosine(vector, voice.vector) < leastSimilarity;
}

/** Whether two voices may be one speaker: vectors and global labels do not say otherwise. */
export const mayBeOne = (a: Voice, b: Voice): boolean =>
  !(a.global !== undefined && b.global !== undefined && a.global !== b.global) &&
  !(a.vector && b.vector && cosine(a.vector, b.vector) < leastSimilarity);

function give({ names }: Ask, labels: readonly string[], voices: readonly Voice[], found: readonly number[]): void {
  for (const [n, label] of labels.entries()) {
    const voice = voices[found[n] ?? -1];
    if (voice) names.set(label, voice);
  }
}

/** Adds what this window says of its speakers. */
function remember({ window, names, labels, isGlobal }: Ask, known: Known): void {
  for (const label of labels) {
    const voice = names.get(label);
    if (!voice) continue;
    if (isGlobal) {
      voice.global ??= label;
      known.byLabel.set(label, voice);
    }
    const unit = vectorOf(window, label);
    if (!unit) continue;
    voice.vector = voice.vector?.length === unit.length ? voice.vector.map((value, n) => value + (unit[n] ?? 0)) : unit;
  }
}

/** The unit vector of a label, or undefined when the provider gave none or no usable one. */
function vectorOf({ heard: { embeddings } }: HeardWindow, label: string): number[] | undefined {
  if (!embeddings || !Object.hasOwn(embeddings, label)) return undefined;
  const vector = embeddings[label]?.slice(0, mostDimensions) ?? [];
  const norm = Math.hypot(...vector);
  return norm > 0 && norm < Infinity ? vector.map((value) => value / norm) : undefined;
}

/** Cosine of the angle of two vectors, 0 for vectors of different models. */
function cosine(a: readonly number[], b: readonly number[]): number {
  if (a.length !== b.length) return 0;
  const dot = a.reduce((sum, value, n) => sum + value * (b[n] ?? 0), 0);
  return dot / (Math.hypot(...a) * Math.hypot(...b) || 1);
}

interface Talk {
  /** Stretches in order that do not touch. */
  spans: [number, number][];
  total: number;
}

const nothing: Talk = { spans: [], total: 0 };

/** When each label speaks between two times. */
function talkOf(words: readonly PlacedWord[], from: number, to: number): Map<string | undefined, Talk> {
  const talks = new Map<string | undefined, Talk>();
  for (const { speaker, startMs, endMs } of words) {
    const [start, end] = [Math.max(from, startMs), Math.min(to, endMs)];
    if (end <= start) continue;
    const talk = talks.get(speaker) ?? { spans: [], total: 0 };
    talks.set(speaker, talk);
    const last = talk.spans.at(-1);
    talk.total += Math.max(0, end - Math.max(start, last?.[1] ?? start));
    if (last && start <= last[1]) last[1] = Math.max(last[1], end);
    else talk.spans.push([start, end]);
  }
  return talks;
}

/** How long both speak at once, in ms; 0 when that is too little to say that they are one. */
function together(a: Talk, b: Talk): number {
  let sum = 0;
  for (let i = 0, j = 0; i < a.spans.length && j < b.spans.length; ) {
    const [one, other] = [a.spans[i], b.spans[j]] as [[number, number], [number, number]];
    sum += Math.max(0, Math.min(one[1], other[1]) - Math.max(one[0], other[0]));
    if (one[1] <= other[1]) i += 1;
    else j += 1;
  }
  return sum >= leastTogetherMs && sum >= leastTogetherShare * Math.min(a.total, b.total) ? sum : 0;
}
