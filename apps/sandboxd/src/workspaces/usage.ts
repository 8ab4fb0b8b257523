import { closeSync, constants, lstatSync, openSync, opendirSync } from 'node:fs';
import type { Usage } from './kinds.ts';

/** Entries that are counted at once, in this process; 128 take half a millisecond (measured). */
const fewEntries = 128;
/** A command that was shorter cannot have made much, and its end does not wait for a count of many files. */
const shortMs = 500;
/** How old a count may be before it is made anew. */
const freshMs = 2_000;

/** Known sizes of workspaces, as far as the end of a command asks for them. */
interface Sizes {
  /** Whether it is over the limits at the end of a command that took so long. */
  isOver(id: string, tookMs: number): Promise<boolean>;
  /** Whether it is over the limits, and more than it was when the command began. */
  hasOutgrown(id: string, began: Usage): Promise<boolean>;
  /** The last count; zero when there was none. */
  last(id: string): Usage;
  forget(id: string): void;
}

/**
 * Counts where no file system does. A workspace with few entries is counted exactly, at once. `du` for more would make
 * each command 10 ms slower with ten files and 500 ms with the most there may be: it runs after a command of some length,
 * and beside the next one when the last count is old. Nothing depends on it but the message, since the volume ends the
 * growth of a workspace by itself (`limited`).
 */
export function createSizes(
  limits: Usage,
  limited: boolean,
  path: (id: string) => string,
  count: (id: string) => Promise<Usage>,
): Sizes {
  const known = new Map<string, Usage & { at: number }>();
  const running = new Map<string, Promise<Usage>>();
  const isOver = ({ bytes, inodes }: Usage): boolean => bytes > limits.bytes || inodes > limits.inodes;
  const keep = (id: string, at: number, { bytes, inodes }: Usage): Usage => {
    known.set(id, { at, bytes, inodes });
    return { bytes, inodes };
  };
  const measure = (id: string): Promise<Usage> => {
    const at = performance.now();
    const made =
      running.get(id) ??
      count(id)
        .then((usage) => keep(id, at, usage))
        .finally(() => running.delete(id));
    running.set(id, made);
    return made;
  };
  return {
    async isOver(id, tookMs) {
      const few = countFew(path(id));
      // Hard links count more than once here: what is over is counted again.
      if (few && !isOver(few)) return isOver(keep(id, performance.now(), few));
      const last = known.get(id);
      if (few || tookMs > shortMs || !last || isOver(last)) return isOver(await measure(id));
      if (performance.now() - last.at > freshMs) measure(id).catch(() => {});
      return false;
    },
    async hasOutgrown(id, began) {
      const now = await measure(id);
      return (
        (!limited && now.bytes > limits.bytes && now.bytes > began.bytes) ||
        (now.inodes > limits.inodes && now.inodes > began.inodes)
      );
    },
    last: (id) => known.get(id) ?? { bytes: 0, inodes: 0 },
    forget: (id) => void known.delete(id),
  };
}

/** The sum of a small tree; undefined when it has more entries, or changes while it is looked at. No link is followed. */
function countFew(root: string): Usage | undefined {
  const sum: Usage = { bytes: 0, inodes: 1 };
  const enter = (path: string): boolean => {
    const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
    const fd = openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    try {
      const directory = opendirSync(`/proc/self/fd/${fd}`);
      try {
        for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) {
          if (sum.inodes >= fewEntries) return false;
          const at = `/proc/self/fd/${fd}/${entry.name}`;
          const stats = lstatSync(at);
          sum.inodes += 1;
          sum.bytes += stats.blocks * 512;
          if (stats.isDirectory() && !enter(at)) return false;
        }
      } finally {
        directory.closeSync();
      }
      return true;
    } finally {
      closeSync(fd);
    }
  };
  try {
    return enter(root) ? sum : undefined;
  } catch {
    return undefined;
  }
}
