import { closeSync, constants, lstatSync, openSync, opendirSync } from 'node:fs';
import { run } from '../drivers/run.ts';

/** Entries that are looked at in this process, which takes 1 to 2 ms; in a larger tree find(1) looks. */
const fewEntries = 256;
const findMs = 20_000;

/**
 * Whether anything in a tree changed at or after `sinceMs`, by ctime: a content, an owner, a name, what was made or
 * removed. Ends at the first that did. No link is followed.
 */
export async function hasChanged(root: string, sinceMs: number): Promise<boolean> {
  const few = lookAtFew(root, sinceMs);
  if (few !== undefined) return few;
  const since = `@${((sinceMs - 1) / 1000).toFixed(3)}`;
  const { code, output } = await run(['find', root, '-xdev', '-newerct', since, '-print', '-quit'], findMs);
  // A tree that could not be searched may have changed.
  return code !== 0 || output !== '';
}

/** Undefined when there are more entries, and when the tree changes while it is looked at. */
function lookAtFew(root: string, sinceMs: number): boolean | undefined {
  const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
  let left = fewEntries;
  const enter = (path: string): boolean | undefined => {
    const fd = openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    try {
      const directory = opendirSync(`/proc/self/fd/${fd}`);
      try {
        for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) {
          left -= 1;
          if (left < 0) return undefined;
          const at = `/proc/self/fd/${fd}/${entry.name}`;
          const stats = lstatSync(at);
          if (stats.ctimeMs >= sinceMs) return true;
          const below = stats.isDirectory() ? enter(at) : false;
          if (below !== false) return below;
        }
        return false;
      } finally {
        directory.closeSync();
      }
    } finally {
      closeSync(fd);
    }
  };
  try {
    return lstatSync(root).ctimeMs >= sinceMs || enter(root);
  } catch {
    return undefined;
  }
}
