import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

/** Something that is held on this machine, as a report tells it. */
interface HeldLock {
  name: string;
  holder: string | null;
  /** Milliseconds since the Unix epoch. */
  since: number;
}

const most = 64;
/** Held while a package manager of the system works. */
const ofPackages = ['/var/lib/dpkg/lock-frontend', '/var/lib/apt/lists/lock', '/var/lib/rpm/.rpm.lock'];
/** What `svc env lock` writes. */
const lockFile = z.object({ holder: z.string(), since: z.number().int(), pid: z.number().int() });

/** Where `svc env lock` keeps what it holds. */
const locksDirectory = (stateDir: string): string => join(stateDir, 'locks');

/** A lock of `svc env lock` whose process lives; undefined when there is none. */
async function readLock(path: string): Promise<z.output<typeof lockFile> | undefined> {
  try {
    const lock = lockFile.parse(JSON.parse(await readFile(path, 'utf8')));
    // 0: nothing is sent, whether it could be is told.
    process.kill(lock.pid, 0);
    return lock;
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'EPERM') return undefined;
    return lockFile.parse(JSON.parse(await readFile(path, 'utf8')));
  }
}

/** What is held: git's index of each root, the system's packages, and the names of `svc env lock`. */
export async function heldLocks(roots: readonly string[], stateDir: string): Promise<HeldLock[]> {
  const own = locksDirectory(stateDir);
  const names = (await readdir(own).catch(() => [])).slice(0, most);
  const named = names.map(async (name): Promise<HeldLock[]> => {
    const lock = await readLock(join(own, name));
    return lock
      ? [{ name: name.slice(0, 200), holder: lock.holder.slice(0, 200), since: Math.max(0, lock.since) }]
      : [];
  });
  const files = [
    ...roots.map((root) => ({ name: `git ${root}`.slice(0, 200), path: join(root, '.git', 'index.lock') })),
    ...(await heldFiles()).map((path) => ({ name: `packages ${path}`.slice(0, 200), path })),
  ];
  const seen = files.map(async ({ name, path }): Promise<HeldLock[]> => {
    const found = await stat(path).catch(() => undefined);
    return found ? [{ name, holder: null, since: Math.max(0, Math.trunc(found.mtimeMs)) }] : [];
  });
  return (await Promise.all([...named, ...seen])).flat().slice(0, most);
}

/** Files of package managers on which somebody holds a lock now: they are there all the time. */
async function heldFiles(): Promise<string[]> {
  const table = await readFile('/proc/locks', 'utf8').catch(() => '');
  const inodes = new Set([...table.matchAll(/:(\d+) \d+ (?:\d+|EOF)$/gm)].map(([, inode]) => inode));
  const found = await Promise.all(
    ofPackages.map(async (path) => {
      const there = await stat(path).catch(() => undefined);
      return there && inodes.has(String(there.ino)) ? [path] : [];
    }),
  );
  return found.flat();
}
