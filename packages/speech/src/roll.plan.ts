import { chainsOf, isOpen } from './chains.ts';
import type { HeardWindow, PlacedWord, RollClip, TrackHeard } from './types.ts';
import { matchVoices } from './voices.ts';
import { repairedWindows } from './words.ts';

/** Labels of a roll, what is wanted of each, and the silence after each clip: 60 labels are 11 min. */
const mostLabels = 60;
const wantedMs = 8_000;
const mostClips = 4;
const silenceMs = 500;
/** Chains of a track that are looked at. */
const mostChains = 300;
/** Longest and shortest clip. */
const longestMs = 2_500;
const shortestMs = 400;
/** Words further apart are two clips. */
const pauseMs = 700;

/**
 * The clips by which a provider could tell who is one speaker over windows, in the order of the roll; empty when that is certain.
 * Each label gets some 8 s in which nobody else speaks, from its longest runs of words; a speaker who is certain over several
 * windows gets them from two. Clips of one label do not follow each other. The roll is 15 min at most, of 60 labels at most.
 */
export function planRoll(recording: { durationMs: number; tracks: readonly TrackHeard[] }): RollClip[] {
  const wanted: Wanted[] = [];
  const seen = new Set<TrackHeard['track']>(['mic']);
  for (const { track, windows: given } of recording.tracks) {
    if (seen.has(track)) continue;
    seen.add(track);
    const windows = repairedWindows(given);
    const clean = windows.map(cleanClips);
    const chains = chainsOf(windows, matchVoices(windows)).slice(0, mostChains);
    // What is certain is heard too: it shows whether the provider can tell speakers apart, and a certain match may err.
    const open = chains.filter((chain) => isOpen(chain, chains));
    for (const { nodes, talkMs } of open.length > 0 ? chains : []) {
      const labels = nodes.map(({ place, label }) => ({
        track,
        window: windows[place]?.window.n ?? 0,
        speaker: label,
        clips: clean[place]?.get(label) ?? [],
      }));
      const best = labels.toSorted((a, b) => sumOf(b.clips) - sumOf(a.clips)).filter(({ clips }) => clips.length > 0);
      wanted.push({ talkMs, labels: best });
    }
  }
  return inOrder(chosen(wanted), recording.durationMs);
}

interface Clip {
  startMs: number;
  endMs: number;
}

interface Label {
  track: TrackHeard['track'];
  window: number;
  speaker: string;
  /** Longest first. */
  clips: readonly Clip[];
}

interface Wanted {
  talkMs: number;
  /** Of the windows in which the speaker speaks alone for longest, first. */
  labels: Label[];
}

const sumOf = (clips: readonly Clip[]): number => clips.reduce((sum, { startMs, endMs }) => sum + endMs - startMs, 0);

/** The clips of each label of a window in which it speaks alone, longest first. */
function cleanClips({ words }: HeardWindow): Map<string, Clip[]> {
  const turns = new Map<string, Clip[][]>();
  let busyUntil = 0;
  for (let at = 0; at < words.length; ) {
    const { speaker } = words[at] as PlacedWord;
    let past = at;
    while (past < words.length && words[past]?.speaker === speaker) past += 1;
    const next = words[past]?.startMs ?? Infinity;
    const own = words.slice(at, past);
    if (speaker !== undefined) {
      const alone = own.filter(({ startMs, endMs }) => startMs >= busyUntil && endMs <= next);
      const clips = clipsOf(alone).sort(byLength);
      if (clips.length > 0) turns.set(speaker, [...(turns.get(speaker) ?? []), clips]);
    }
    for (const { endMs } of own) busyUntil = Math.max(busyUntil, endMs);
    at = past;
  }
  return new Map([...turns].map(([speaker, own]) => [speaker, bestOf(own)]));
}

/** Clips of as many turns as there are: a provider that errs in one turn errs in all of it. */
function bestOf(turns: readonly Clip[][]): Clip[] {
  const rounds = Array.from({ length: mostClips }, (_, round) => turns.flatMap((clips) => clips[round] ?? []));
  return rounds.flatMap((clips) => clips.sort(byLength)).slice(0, mostClips);
}

/** Words of one speaker as clips, cut at pauses and where they are long enough; short ones are left out. */
function clipsOf(words: readonly PlacedWord[]): Clip[] {
  const clips: Clip[] = [];
  for (const { startMs, endMs } of words) {
    const last = clips.at(-1);
    if (last && startMs - last.endMs <= pauseMs && endMs - last.startMs <= longestMs)
      last.endMs = Math.max(last.endMs, endMs);
    else clips.push({ startMs, endMs: Math.min(endMs, startMs + longestMs) });
  }
  return clips.filter(({ startMs, endMs }) => endMs - startMs >= shortestMs);
}

const byLength = (a: Clip, b: Clip): number => b.endMs - b.startMs - (a.endMs - a.startMs) || a.startMs - b.startMs;

/** The labels that are heard: one of each speaker, who speaks most first, then their other windows as long as there is room. */
function chosen(wanted: readonly Wanted[]): Label[] {
  const order = wanted.toSorted((a, b) => b.talkMs - a.talkMs);
  const most = Math.max(0, ...order.map(({ labels }) => labels.length));
  const rounds = Array.from({ length: Math.min(most, mostLabels) }, (_, n) =>
    order.flatMap(({ labels }) => labels[n] ?? []),
  );
  return rounds
    .flat()
    .slice(0, mostLabels)
    .map((label) => ({ ...label, clips: enough(label.clips) }));
}

/** The first clips that are as long together as is wanted. */
function enough(clips: readonly Clip[]): Clip[] {
  let sum = 0;
  return clips.slice(0, mostClips).filter(({ startMs, endMs }) => {
    const isWanted = sum < wantedMs;
    if (isWanted) sum += endMs - startMs;
    return isWanted;
  });
}

/** The first clip of each label, then the second of each, one after the other. */
function inOrder(labels: readonly Label[], durationMs: number): RollClip[] {
  const clips: RollClip[] = [];
  let atMs = 0;
  for (let round = 0; round < mostClips; round += 1) {
    for (const { clips: own, ...label } of labels) {
      const clip = own[round];
      const endMs = Math.min(clip?.endMs ?? 0, durationMs >= 0 ? Math.round(durationMs) : Infinity);
      if (!clip || endMs - clip.startMs < shortestMs) continue;
      clips.push({ ...label, startMs: clip.startMs, endMs, atMs });
      atMs += endMs - clip.startMs + silenceMs;
    }
  }
  return clips;
}
