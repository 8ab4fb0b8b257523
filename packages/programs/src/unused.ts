import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** So many are kept at least: a checkout of another branch and back is no reason to build. */
const kept = 2;
/** Where nobody can tell what a process has open, and of builds that were broken off. */
const oldMs = 30 * 86_400_000;
const brokenMs = 3_600_000;

/**
 * Removes bundles that surely nothing runs from, the newest aside: a process loads parts of its bundle late. Each has a
 * file of its bundle open or in its command line.
 */
export function removeUnused(bundles: string, now = Date.now()): void {
  const aged = readdirSync(bundles)
    .map((name) => ({ name, at: statSync(join(bundles, name), { throwIfNoEntry: false })?.mtimeMs ?? 0 }))
    .sort((one, other) => other.at - one.at);
  const isWhole = ({ name }: { name: string }): boolean => /^[0-9a-f]{16}$/.test(name);
  const old = aged.filter(isWhole).slice(kept);
  const isUsed = old.length > 0 ? usedBundles(bundles) : undefined;
  const unused = old.filter(({ name, at }) => (isUsed ? !isUsed(name) : now - at > oldMs));
  const broken = aged.filter((each) => !isWhole(each) && now - each.at > brokenMs);
  for (const { name } of [...unused, ...broken]) rmSync(join(bundles, name), { recursive: true, force: true });
}

/** Code that was compiled of bundles which are gone stays; without any of it a start takes 0.3 s more, once. */
const mostCompiledBytes = 256 * 1024 * 1024;

/** Empties the cache of compiled code when it is large: what is in it has no names. */
export function emptyLarge(cache: string): void {
  const files = existsSync(cache) ? readdirSync(cache, { recursive: true, withFileTypes: true }) : [];
  const sizes = files.map(
    ({ parentPath, name }) => statSync(join(parentPath, name), { throwIfNoEntry: false })?.size ?? 0,
  );
  if (sizes.reduce((sum, size) => sum + size, 0) > mostCompiledBytes) rmSync(cache, { recursive: true, force: true });
}

/** Tells whether a process runs from a bundle; undefined where this system, or this user, cannot see. */
function usedBundles(bundles: string): ((name: string) => boolean) | undefined {
  if (!existsSync('/proc/self/fd')) return undefined;
  const clone = join(bundles, '../../..');
  const seen: string[] = [];
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      seen.push(words);
      for (const fd of readdirSync(`/proc/${pid}/fd`)) seen.push(openFile(pid, fd));
    } catch (error) {
      const isOther = (error as NodeJS.ErrnoException).code === 'EACCES';
      // A process of another user that may be of this clone.
      if (isOther && seen.at(-1)?.includes(clone)) return () => true;
    }
  }
  return (name) => seen.some((text) => text.includes(join(bundles, name)));
}

function openFile(pid: string, fd: string): string {
  try {
    return readlinkSync(`/proc/${pid}/fd/${fd}`);
  } catch {
    return '';
  }
}
