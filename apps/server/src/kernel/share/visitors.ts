import type { GiveBack } from './share.ts';

/** Places that visitors share, such as those of one port. */
interface Group {
  /** Tells it apart from other groups. */
  readonly name: string;
  /** Places in it. */
  readonly most: number;
  /** Who holds the place in it: an account, or the network of somebody who has none. */
  readonly holder: string;
}

interface Place {
  readonly groups: readonly Group[];
  readonly end: () => void;
}

/**
 * Places of visitors, whom nobody knows. In a group that is full the oldest place of whoever holds most is taken back for one who
 * holds less, so a newcomer is refused by nobody's hoard; whoever holds most waits until a place is free.
 */
export class VisitorPlaces {
  /** By name of the group, the oldest first. */
  readonly #groups = new Map<string, Set<Place>>();

  /** Takes a place in all of the groups; undefined when one is full and nobody in it holds more. `end` ends what has it. */
  take(groups: readonly Group[], end: () => void): GiveBack | undefined {
    const ended = new Set<Place>();
    for (const group of groups) {
      const left = [...(this.#groups.get(group.name) ?? [])].filter((place) => !ended.has(place));
      if (left.length < group.most) continue;
      const oldest = oldestOfLargest(left, group);
      if (!oldest) return undefined;
      ended.add(oldest);
    }
    const place = { groups, end };
    for (const { name } of groups) this.#groups.set(name, (this.#groups.get(name) ?? new Set()).add(place));
    for (const one of ended) {
      this.#drop(one);
      one.end();
    }
    return () => this.#drop(place);
  }

  /** How many places of a group are taken. */
  taken(name: string): number {
    return this.#groups.get(name)?.size ?? 0;
  }

  #drop(place: Place): void {
    for (const { name } of place.groups) {
      const all = this.#groups.get(name);
      all?.delete(place);
      if (all?.size === 0) this.#groups.delete(name);
    }
  }
}

/** Undefined when nobody holds more than `holder`. */
function oldestOfLargest(places: readonly Place[], { name, holder }: Group): Place | undefined {
  const held = Map.groupBy(places, (place) => place.groups.find((group) => group.name === name)?.holder);
  const own = held.get(holder)?.length ?? 0;
  const largest = [...held.values()].reduce((a, b) => (b.length > a.length ? b : a), []);
  return largest.length > own ? largest[0] : undefined;
}
