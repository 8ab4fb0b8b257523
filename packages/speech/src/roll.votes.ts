import type { Chain, Node } from './chains.ts';
import type { Heard, HeardWindow, PlacedWord, RollClip, TrackHeard } from './types.ts';
import { repaired } from './words.ts';

/** Clips of a roll that are read, and the longest roll. */
const mostClips = 1_000;
const longestMs = 15 * 60_000;
/** A roll is believed when its clips have so much of their time the label that most of their speaker's clips have, */
const leastAgreed = 0.6;
/** and when labels of one window, which are two speakers, are called the same for no more than this. */
const mostConfused = 0.35;
/** Speakers are one when the roll calls them the same for this share of their time, two when for no more than that. */
export const leastAlike = 0.5;
const mostUnlike = 0.35;
/** Clips from which on it says that two speakers are two. */
const leastClips = 2;
/** Two labels are one speaker when both have this share of what was heard of so many labels of windows. */
const leastMixed = 0.2;
const leastMixtures = 2;

/** What a provider heard in the clips of one track. */
export interface HeardClip {
  clip: RollClip;
  /** Milliseconds of words by label. */
  votes: ReadonlyMap<string, number>;
}

/** What a provider heard in the clips of a roll, by track. Never throws for what it answered. */
export function votesOf(roll: { clips: readonly RollClip[]; heard: Heard }): Map<TrackHeard['track'], HeardClip[]> {
  const clips = roll.clips.slice(0, mostClips).toSorted((a, b) => a.atMs - b.atMs);
  const whole = { n: 0, startMs: 0, endMs: longestMs, fromMs: 0, toMs: longestMs };
  const words = repaired(roll.heard, whole).sort((a, b) => a.startMs - b.startMs);
  const byTrack = new Map<TrackHeard['track'], HeardClip[]>();
  let from = 0;
  for (const clip of clips) {
    const endMs = clip.atMs + clip.endMs - clip.startMs;
    while (from < words.length && (words[from]?.endMs ?? 0) <= clip.atMs) from += 1;
    const votes = talkIn(words, from, clip.atMs, endMs);
    byTrack.set(clip.track, [...(byTrack.get(clip.track) ?? []), { clip, votes }]);
  }
  return byTrack;
}

function talkIn(words: readonly PlacedWord[], from: number, startMs: number, endMs: number): Map<string, number> {
  const votes = new Map<string, number>();
  for (let n = from; n < words.length; n += 1) {
    const word = words[n] as PlacedWord;
    if (word.startMs >= endMs) break;
    const ms = Math.min(endMs, word.endMs) - Math.max(startMs, word.startMs);
    if (ms > 0 && word.speaker !== undefined) votes.set(word.speaker, (votes.get(word.speaker) ?? 0) + ms);
  }
  return votes;
}

/** What was heard in the clips of one speaker. */
export interface Tally {
  votes: Map<string, number>;
  /** Milliseconds of all words, also of labels that were taken out. */
  heardMs: number;
  /** Clips in which something was heard. */
  clips: number;
}

/** No label. */
export const nothing: ReadonlySet<string> = new Set();

/** What was heard in the clips of each label of a window. */
export function talliesOf(
  chains: readonly Chain[],
  windows: readonly HeardWindow[],
  heard: readonly HeardClip[],
): Map<Node, Tally> {
  const places = new Map(windows.map(({ window }, place) => [window.n, place]));
  const keyOf = (place: number | undefined, label: string): string => `${place} ${label}`;
  const nodes = new Map<string, Node>();
  for (const node of chains.flatMap((chain) => chain.nodes)) nodes.set(keyOf(node.place, node.label), node);
  const tallies = new Map<Node, Tally>();
  for (const { clip, votes } of heard) {
    const node = nodes.get(keyOf(places.get(clip.window), clip.speaker));
    if (!node || votes.size === 0) continue;
    const tally = tallies.get(node) ?? { votes: new Map(), heardMs: 0, clips: 0 };
    tallies.set(node, tally);
    tally.clips += 1;
    tally.heardMs += totalOf(votes);
    add(tally.votes, votes);
  }
  return tallies;
}

/**
 * Makes labels one that the roll gives to one speaker: they stand mixed in what was heard of labels of windows, more often than they
 * stand apart as the first ones of two labels of one window.
 */
export function joinSynonyms(tallies: ReadonlyMap<Node, Tally>): void {
  const pairs = new Map<string, { labels: [string, string]; mixed: number; apart: number }>();
  const note = (one: string, other: string, key: 'mixed' | 'apart'): void => {
    if (one === other) return;
    const labels: [string, string] = one < other ? [one, other] : [other, one];
    const pair = pairs.get(JSON.stringify(labels)) ?? { labels, mixed: 0, apart: 0 };
    pairs.set(JSON.stringify(labels), pair);
    pair[key] += 1;
  };
  for (const { votes, heardMs } of tallies.values()) {
    const own = [...votes].filter(([, ms]) => ms >= leastMixed * heardMs).map(([label]) => label);
    for (const [n, one] of own.entries()) for (const other of own.slice(0, n)) note(one, other, 'mixed');
  }
  for (const own of Map.groupBy(tallies, ([{ place }]) => place).values()) {
    const first = [...new Set(own.flatMap(([, { votes }]) => firstOf(votes) ?? []))];
    for (const [n, one] of first.entries()) for (const other of first.slice(0, n)) note(one, other, 'apart');
  }
  const isApart = (one: string, other: string): boolean =>
    (pairs.get(JSON.stringify(one < other ? [one, other] : [other, one]))?.apart ?? 0) > 0;
  const sets = new Map<string, string[]>();
  const setOf = (label: string): string[] => sets.get(label) ?? [label];
  for (const { labels, mixed } of [...pairs.values()].sort((a, b) => b.mixed - a.mixed)) {
    const [one, other] = [setOf(labels[0]), setOf(labels[1])];
    if (mixed < leastMixtures || one.some((a) => other.includes(a) || other.some((b) => isApart(a, b)))) continue;
    const both = [...one, ...other];
    for (const label of both) sets.set(label, both);
  }
  for (const tally of tallies.values()) {
    const votes = new Map<string, number>();
    for (const [label, ms] of tally.votes) add(votes, new Map([[setOf(label)[0] ?? label, ms]]));
    tally.votes = votes;
  }
}

function firstOf(votes: ReadonlyMap<string, number>): string | undefined {
  const most = mostOf(votes);
  return [...votes].find(([, ms]) => ms === most)?.[0];
}

/** Adds votes to others. */
export function add(votes: Map<string, number>, more: ReadonlyMap<string, number>): void {
  for (const [label, ms] of more) votes.set(label, (votes.get(label) ?? 0) + ms);
}

/** Milliseconds of all labels, or of some. */
const totalOf = (votes: ReadonlyMap<string, number>, of?: ReadonlySet<string>): number => {
  let total = 0;
  for (const [label, ms] of votes) if (!of || of.has(label)) total += ms;
  return total;
};
const mostOf = (votes: ReadonlyMap<string, number>): number => Math.max(0, ...votes.values());

/** Share of the time for which two are called the same, 0..1, but for some labels. */
export function alike(a: Tally, b: Tally, but: ReadonlySet<string>): number {
  if (a.heardMs === 0 || b.heardMs === 0) return 0;
  let share = 0;
  for (const [label, ms] of a.votes) {
    if (!but.has(label)) share += Math.min(ms / a.heardMs, (b.votes.get(label) ?? 0) / b.heardMs);
  }
  return share;
}

/** Whether the roll says enough of a speaker, with other labels than some. */
export const isHeard = ({ votes, heardMs, clips }: Tally, but: ReadonlySet<string>): boolean =>
  clips >= leastClips && totalOf(votes) - totalOf(votes, but) > leastAlike * heardMs;

/** Whether the roll says that two are not one. */
export const isUnlike = (a: Tally, b: Tally, but: ReadonlySet<string>): boolean =>
  isHeard(a, but) && isHeard(b, but) && alike(a, b, but) <= mostUnlike;

/** Whether the clips of a label agree, and those of two labels of one window do not. */
export function isBelieved(tallies: ReadonlyMap<Node, Tally>): boolean {
  let [agreed, total, confused, pairs] = [0, 0, 0, 0];
  for (const { votes, clips } of tallies.values()) {
    if (clips < leastClips) continue;
    agreed += mostOf(votes);
    total += totalOf(votes);
  }
  for (const own of Map.groupBy(tallies.keys(), ({ place }) => place).values()) {
    for (const [n, node] of own.entries()) {
      for (const other of own.slice(0, n)) {
        confused += alike(tallies.get(node) as Tally, tallies.get(other) as Tally, nothing);
        pairs += 1;
      }
    }
  }
  return agreed >= leastAgreed * total && confused <= mostConfused * pairs;
}

/** The labels that mean two speakers in most of the windows in which they are the first. */
export function confusedIn(tallies: ReadonlyMap<Node, Tally>): Set<string> {
  const places = new Map<string, Map<number, number>>();
  for (const [{ place }, { votes, heardMs }] of tallies) {
    for (const [label, ms] of votes) {
      if (ms < leastAlike * heardMs) continue;
      const own = places.get(label) ?? new Map<number, number>();
      places.set(label, own.set(place, (own.get(place) ?? 0) + 1));
    }
  }
  const isTwo = (own: Map<number, number>): boolean =>
    [...own.values()].filter((count) => count > 1).length > own.size / 2;
  return new Set([...places].flatMap(([label, own]) => (isTwo(own) ? [label] : [])));
}
