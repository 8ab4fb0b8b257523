/** What says whose fork a record is. */
interface Forked {
  id: string;
  parent_id?: string | undefined;
}

/** Each fork below its parent, with how deep it stands; one whose parent is not in the list stands at the top. */
export function forkTree<T extends Forked>(all: readonly T[]): (T & { depth: number })[] {
  const ids = new Set(all.map(({ id }) => id));
  const children = new Map<string | undefined, T[]>();
  for (const one of all) {
    const parent = one.parent_id !== undefined && ids.has(one.parent_id) ? one.parent_id : undefined;
    children.set(parent, [...(children.get(parent) ?? []), one]);
  }
  const rows: (T & { depth: number })[] = [];
  const waiting = (children.get(undefined) ?? []).toReversed().map((one) => ({ ...one, depth: 0 }));
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    rows.push(next);
    const depth = next.depth + 1;
    waiting.push(...(children.get(next.id) ?? []).toReversed().map((one) => ({ ...one, depth })));
  }
  return rows;
}
