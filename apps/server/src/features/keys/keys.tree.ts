import type { KeyRow } from './keys.sql.ts';

/** Keys as a tree, one a row: below each those that it made, the oldest first. `keys` are the newest first. */
export function treeOf(keys: readonly KeyRow[]): object[] {
  const known = new Set(keys.map(({ id }) => id));
  const oldestFirst = keys.toReversed();
  // A parent that is not there, or no parent: the top.
  const byParent = Map.groupBy(oldestFirst, ({ parent_id: parent }) =>
    parent !== null && known.has(parent) ? parent : null,
  );
  const rows: object[] = [];
  /** Not recursive: a chain of keys may be as long as the quota. */
  const waiting = rowsBelow(byParent.get(null) ?? [], '', true);
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { key, mark, below } = next;
    rows.push({
      tree: `${mark}${key.prefix}`,
      name: key.name,
      status: key.status,
      scopes: key.scopes,
      last_used_at: key.last_used_at ?? undefined,
      id: key.id,
      parent_id: key.parent_id ?? undefined,
    });
    waiting.push(...rowsBelow(byParent.get(key.id) ?? [], below, false));
  }
  return rows;
}

interface Line {
  key: KeyRow;
  /** Before its prefix. */
  mark: string;
  /** Before the marks of those below it. */
  below: string;
}

/** The last first, so that the first is taken next from the end. */
function rowsBelow(keys: readonly KeyRow[], indent: string, isTop: boolean): Line[] {
  return keys
    .map((key, index) => {
      const isLast = index === keys.length - 1;
      if (isTop) return { key, mark: '', below: '' };
      return {
        key,
        mark: `${indent}${isLast ? '└─ ' : '├─ '}`,
        below: `${indent}${isLast ? '   ' : '│  '}`,
      };
    })
    .toReversed();
}
