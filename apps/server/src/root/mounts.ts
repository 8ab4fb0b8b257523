import { statSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';

/** The topmost folder above a path, or the path itself, that a user without privileges could not enter. */
function closedAbove(path: string): string | undefined {
  let closed: string | undefined;
  for (let folder = resolve(path); folder !== dirname(folder); folder = dirname(folder)) {
    const stat = statSync(folder, { throwIfNoEntry: false });
    if (stat && (stat.mode & 0o001) === 0) closed = folder;
  }
  return closed;
}

/**
 * The words that run a command, given after them, where each of `paths` can be entered: with mounts of its own, in which a
 * closed folder above one (a home, one of `mktemp -d`) holds that path alone, under its name. Empty when all are open already.
 * The machine's own mounts, and the modes of folders, stay as they are.
 */
export function openMounts(paths: readonly string[]): string[] {
  const closed = new Map<string, string[]>();
  for (const path of paths) {
    const folder = closedAbove(path);
    if (folder !== undefined) closed.set(folder, [...(closed.get(folder) ?? []), path]);
  }
  if (closed.size === 0) return [];
  const needed = [...closed.values()].flat();
  const script = [
    'set -e',
    'mask=$(umask); umask 022',
    // Held by descriptors before what is above them is covered.
    ...needed.map((path, i) => `exec ${i + 3}<${quoted(path)}`),
    ...[...closed.keys()].map((folder) => `mount -t tmpfs -o mode=0711,size=64k,nosuid,nodev svc ${quoted(folder)}`),
    ...needed.flatMap((path, i) =>
      // One that lies in another is there already.
      needed.some((other) => other !== path && !relative(other, path).startsWith('..'))
        ? []
        : [`mkdir -p ${quoted(path)}`, `mount --no-canonicalize --bind /proc/self/fd/${i + 3} ${quoted(path)}`],
    ),
    ...needed.map((_, i) => `exec ${i + 3}<&-`),
    'umask "$mask"',
    'exec "$@"',
  ];
  return ['unshare', '--mount', '--propagation', 'slave', 'sh', '-c', script.join('\n'), 'sh'];
}

/** As a word of a shell. */
export const quoted = (path: string): string => `'${path.replaceAll("'", "'\\''")}'`;
