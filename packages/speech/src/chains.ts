import type { HeardWindow } from './types.ts';
import { type Match, mayBeOne, type Voice } from './voices.ts';

/** A label of a window. */
export interface Node {
  /** Place of the window among those of its track, by time. */
  place: number;
  label: string;
  talkMs: number;
}

/** Labels of windows that are certainly one speaker, by time. */
export interface Chain {
  voice: Voice;
  nodes: Node[];
  talkMs: number;
  /** The chain that is probably the same speaker. */
  before: Chain | undefined;
}

/** The chains of a track's windows, in the order in which they begin. */
export function chainsOf(windows: readonly HeardWindow[], matches: readonly Match[]): Chain[] {
  const chains: Chain[] = [];
  const latest = new Map<Voice, Chain>();
  for (const [place, { names, sure }] of matches.entries()) {
    const talk = talkOf(windows[place]);
    for (const [label, voice] of names) {
      if (label === undefined) continue;
      const before = latest.get(voice);
      const chain = before && sure.has(label) ? before : { voice, nodes: [], talkMs: 0, before };
      if (chain !== before) {
        chains.push(chain);
        latest.set(voice, chain);
      }
      const talkMs = talk.get(label) ?? 0;
      chain.nodes.push({ place, label, talkMs });
      chain.talkMs += talkMs;
    }
  }
  return chains;
}

function talkOf(window: HeardWindow | undefined): Map<string | undefined, number> {
  const talk = new Map<string | undefined, number>();
  for (const { speaker, startMs, endMs } of window?.words ?? [])
    talk.set(speaker, (talk.get(speaker) ?? 0) + endMs - startMs);
  return talk;
}

const startOf = ({ nodes }: Chain): number => nodes[0]?.place ?? 0;

/** Whether a chain begins after the first window and may be a speaker who was heard before. */
export const isOpen = (chain: Chain, chains: readonly Chain[]): boolean =>
  chains.some((other) => startOf(other) < startOf(chain) && mayBeOne(other.voice, chain.voice));
