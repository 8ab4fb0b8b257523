import { type Chain, chainsOf, type Node } from './chains.ts';
import {
  add,
  alike,
  confusedIn,
  type HeardClip,
  isBelieved,
  isHeard,
  isUnlike,
  joinSynonyms,
  leastAlike,
  nothing,
  talliesOf,
  type Tally,
} from './roll.votes.ts';
import type { HeardWindow } from './types.ts';
import { type Match, mayBeOne, type Names, type Voice } from './voices.ts';

/** Two labels of one window are one speaker when the roll calls them the same for this share of their time. */
const leastSure = 0.75;

/** Labels of windows that are one speaker. */
interface Group extends Tally {
  voice: Voice;
  nodes: Node[];
  /** Windows in which they speak. */
  places: Set<number>;
  talkMs: number;
}

/**
 * The speakers of a track's windows, joined by what a provider heard in a roll of their clips. What the roll does not say is as it
 * was without one. Two labels of one window stay two speakers; a label of the roll that takes two for one in most of its
 * windows counts for nothing; and a roll whose clips contradict each other or the windows changes nothing.
 */
export function joinedByRoll(
  windows: readonly HeardWindow[],
  matches: readonly Match[],
  heard: readonly HeardClip[],
): Names[] {
  const chains = chainsOf(windows, matches);
  const tallies = talliesOf(chains, windows, heard);
  const without = matches.map(({ names }) => names);
  if (!isBelieved(tallies)) return without;
  joinSynonyms(tallies);
  if (!isBelieved(tallies)) return without;
  const confused = confusedIn(tallies);
  const groups = new Map<Node, Group>();
  for (const group of chains.flatMap((chain) => cutWhereUnlike(chain, tallies, confused))) {
    for (const node of group.nodes) groups.set(node, group);
  }
  joinAlike(groups, confused);
  joinSplit(groups, confused);
  joinAsBefore(groups, chains, confused);
  // Two speakers whom the roll takes for one are now told apart by how much they speak, where nothing else does.
  if (confused.size > 0) joinAlike(groups, nothing);
  return namesOf(matches, groups);
}

/** A chain, cut where the roll says that it is two speakers after all. */
function cutWhereUnlike(
  { nodes, voice }: Chain,
  tallies: ReadonlyMap<Node, Tally>,
  confused: ReadonlySet<string>,
): Group[] {
  const groups: Group[] = [];
  for (const node of nodes) {
    const tally = tallies.get(node) ?? { votes: new Map(), heardMs: 0, clips: 0 };
    const own: Group = { ...tally, voice, nodes: [node], places: new Set([node.place]), talkMs: node.talkMs };
    const last = groups.at(-1);
    if (last && !isUnlike(last, own, confused)) merge(last, own);
    else groups.push({ ...own, votes: new Map(own.votes) });
  }
  return groups;
}

function merge(one: Group, other: Group): void {
  one.nodes.push(...other.nodes);
  for (const place of other.places) one.places.add(place);
  one.talkMs += other.talkMs;
  one.clips += other.clips;
  one.heardMs += other.heardMs;
  add(one.votes, other.votes);
}

/** Joins groups that are called the same by other labels than some, the most alike first, and of those who speaks most. */
function joinAlike(groups: Map<Node, Group>, but: ReadonlySet<string>): void {
  for (const [a, b] of pairsOf(groups, but)) if (a.places.isDisjointFrom(b.places)) join(groups, a, b, but);
}

/**
 * Joins two of one window, where the roll surely calls them the same and they are heard in most windows as one: there the
 * provider took one for two.
 */
function joinSplit(groups: Map<Node, Group>, but: ReadonlySet<string>): void {
  for (const [a, b] of pairsOf(groups, but)) {
    const isSure = isHeard(a, but) && isHeard(b, but) && alike(a, b, but) >= leastSure;
    if (isSure && 2 * a.places.intersection(b.places).size < a.places.union(b.places).size) join(groups, a, b, but);
  }
}

/** Pairs of groups that are called the same, as they are when their turn comes. */
function* pairsOf(groups: ReadonlyMap<Node, Group>, but: ReadonlySet<string>): Generator<[Group, Group]> {
  const all = [...new Set(groups.values())].filter(({ heardMs }) => heardMs > 0);
  const pairs = all.flatMap((one, n) =>
    all.slice(0, n).map((other) => ({ one, other, share: alike(one, other, but) })),
  );
  const best = pairs.filter(({ share }) => share >= leastAlike);
  best.sort((a, b) => b.share - a.share || b.one.talkMs + b.other.talkMs - a.one.talkMs - a.other.talkMs);
  for (const { one, other } of best) {
    const [a, b] = [one, other].map((group) => groups.get(group.nodes[0] as Node));
    if (a && b && a !== b) yield [a, b];
  }
}

/** Joins those who were one without the roll, and of whom it says nothing else. */
function joinAsBefore(groups: Map<Node, Group>, chains: readonly Chain[], but: ReadonlySet<string>): void {
  for (const own of Map.groupBy(chains, ({ voice }) => voice).values()) {
    const nodes = own.flatMap((chain) => chain.nodes);
    for (const [n, node] of nodes.entries()) {
      const [a, b] = [groups.get(nodes[n - 1] ?? node), groups.get(node)];
      if (a && b && a.places.isDisjointFrom(b.places)) join(groups, a, b, but);
    }
  }
}

/** Makes two groups one, unless they sound apart or are called apart. */
function join(groups: Map<Node, Group>, one: Group, other: Group, but: ReadonlySet<string>): void {
  if (isUnlike(one, other, but) || !mayBeOne(one.voice, other.voice)) return;
  for (const node of other.nodes) groups.set(node, one);
  merge(one, other);
}

function namesOf(matches: readonly Match[], groups: ReadonlyMap<Node, Group>): Names[] {
  const newVoice = (): Voice => ({ global: undefined, vector: undefined });
  const names = matches.map((match): Names => new Map([[undefined, match.names.get(undefined) ?? newVoice()]]));
  for (const { nodes } of new Set(groups.values())) {
    const voice = newVoice();
    for (const { place, label } of nodes) names[place]?.set(label, voice);
  }
  return names;
}
